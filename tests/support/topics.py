"""What lies in the topics of a real broker, by the client of the catalogue's trials: independent of what is tested."""

from streamops_sandbox.catalogue.topics import Published, counting, ends, exists, published

__all__ = ["Published", "counting", "ends", "exists", "published"]
