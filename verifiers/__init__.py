"""The protected scoring process."""
