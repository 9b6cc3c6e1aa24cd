"""Bounded backfills: a range of the source once more, on a checkpoint of its own, as a stream derived from the declared one."""
