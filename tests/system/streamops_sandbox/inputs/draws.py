"""Numbers that look drawn by chance and depend on nothing but their names: the same on every version of Python."""

import hashlib


def draw(below: int, *names: object) -> int:
    """A whole number from 0 to `below` - 1 that these names stand for."""
    digest = hashlib.blake2b("\0".join(map(str, names)).encode(), digest_size=8, person=b"streamops draw").digest()
    return int.from_bytes(digest) % below
