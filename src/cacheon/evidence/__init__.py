"""What was seen, how it is kept, and what follows from it."""
