"""What problems share that bring nothing of their own."""
