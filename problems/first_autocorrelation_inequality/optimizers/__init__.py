"""Programs that improve constructions; data to the engine, run in a sandbox only."""
