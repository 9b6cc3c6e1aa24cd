"""Starting drivers and proving their end, one kind of cluster manager a module."""

from streamops.launch.port import DriverState, DriverStatus, Launcher, SubmitRequest

__all__ = ["DriverState", "DriverStatus", "Launcher", "SubmitRequest"]
