"""The evolutionary search: pure decisions over the forest, and the one loop that carries them out."""
