"""What streams have not read of their topics, and whether it is still there."""
