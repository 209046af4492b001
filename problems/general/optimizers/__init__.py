"""General programs, for problems whose folder brings none; data to the engine, run in a sandbox only."""
