"""Exact, protected, fast evaluation for the search of mathematical constructions, and the search itself."""
