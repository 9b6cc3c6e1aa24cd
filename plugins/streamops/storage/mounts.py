"""What a folder is mounted from, and whether the suite can rely on what it sees there. Linux.

A network file system shows each host its own, kept view: names that another host has just made may be unknown for up to a
minute (nfs(5): acdirmax, lookupcache). A driver looks for the next record of the control log, and a supervisor for the
folders of drivers: both must see a fresh name at once.
"""

import re
from dataclasses import dataclass

_OCTAL = re.compile(r"\\([0-7]{3})")

NEEDED = {
    "nfs": ("lookupcache=none", "noac"),
    "nfs4": ("lookupcache=none", "noac"),
    "cifs": ("actimeo=0", "cache=none"),
    "smb3": ("actimeo=0", "cache=none"),
}
"""By kind of file system: the mount options of which one is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    point: str
    kind: str
    """`ext4`, `tmpfs`, `nfs4` …"""
    options: frozenset[str]
    """Those of the mount and those of the file system."""

    @property
    def trouble(self) -> str:
        """Which options are missing; empty where the suite can rely on it."""
        needed = NEEDED.get(self.kind, ())
        if not needed or self.options & set(needed):
            return ""
        return (
            f"{self.point} is a network file system ({self.kind}) that may show names of another host late: mount it with"
            f" {' or '.join(needed)}"
        )


def mount_of(path: str, table: str) -> Mount:
    """The mount that a path without symlinks lies on; `table` is the text of /proc/self/mountinfo. The last one is on top."""
    found = Mount(point="/", kind="unknown", options=frozenset())
    for line in table.splitlines():
        mount = _parsed(line)
        is_around = mount is not None and (path + "/").startswith(mount.point.rstrip("/") + "/")
        if mount is not None and is_around and len(mount.point) >= len(found.point):
            found = mount
    return found


def _parsed(line: str) -> Mount | None:
    """`36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw,errors=continue` (proc_pid_mountinfo(5))"""
    head, separator, tail = line.partition(" - ")
    first, last = head.split(" "), tail.split(" ")
    if not separator or len(first) < 6 or len(last) < 3:
        return None
    return Mount(
        point=_OCTAL.sub(lambda match: chr(int(match[1], 8)), first[4]),
        kind=last[0],
        options=frozenset((*first[5].split(","), *last[2].split(","))),
    )
