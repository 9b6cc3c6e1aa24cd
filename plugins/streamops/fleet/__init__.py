"""Rounds over all streams: look at each, keep what was found, tell each change of verdict once."""
