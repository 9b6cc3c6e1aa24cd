"""Judgement on checkpoints: what is wrong, what a start makes of it, and how to repair it, from facts alone."""
