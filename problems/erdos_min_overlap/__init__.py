"""One problem: what is asked, how it is scored, and programs that improve constructions for it."""
