"""What people ask for: stop, start, restart, release, adopt, forget. Planned, put on record, and followed."""
