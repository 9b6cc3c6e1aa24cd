"""Starting drivers and proving their end, one kind of cluster manager a module."""

from streamops.launch.port import DriverState, DriverStatus, FoundDriver, Launcher, SubmitRequest, why_unseen

__all__ = ["DriverState", "DriverStatus", "FoundDriver", "Launcher", "SubmitRequest", "why_unseen"]
