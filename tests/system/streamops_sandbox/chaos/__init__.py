"""Streams struck in every way that we can make, and the account afterwards. Run as `python -m streamops_sandbox.chaos`."""
