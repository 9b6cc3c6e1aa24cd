"""One look at a checkpoint and what lies around it, judged."""
