"""Loopback ports that nobody listens on."""

import random
import socket

from streamops_sandbox.errors import SandboxError

LOOPBACK = "127.0.0.1"

CANDIDATES = range(20_000, 32_000)
"""Below Linux's ephemeral range (32768 and up): a port kept between two runs of the sandbox is not borrowed for an
outgoing connection in the meantime."""

_ATTEMPTS = 200


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the servers do it themselves: connections of the last run in TIME_WAIT do not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port(*, taken: frozenset[int] = frozenset()) -> int:
    """A loopback port that is free and not among those already given away; SandboxError when none was found."""
    for port in random.sample(CANDIDATES, _ATTEMPTS):
        if port not in taken and is_free(port):
            return port
    raise SandboxError(
        f"no free port among {_ATTEMPTS} tried on {LOOPBACK} from {CANDIDATES.start} to {CANDIDATES.stop - 1}: "
        "look at `ss -ltn` for what takes them"
    )
