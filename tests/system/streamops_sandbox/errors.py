"""What the sandbox raises on purpose."""

from streamops.errors import StreamOpsError


class SandboxError(StreamOpsError):
    """A part of the sandbox did not come up or go down."""
