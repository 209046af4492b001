"""What is asked: schemas, scores, exact scores, references, starts."""
