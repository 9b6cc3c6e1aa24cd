"""Starting drivers and proving their end, one kind of cluster manager a module."""

from streamops.launch.port import DriverState, DriverStatus, FoundDriver, Launcher, SubmitRequest

__all__ = ["DriverState", "DriverStatus", "FoundDriver", "Launcher", "SubmitRequest"]
