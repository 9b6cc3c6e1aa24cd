"""What a folder is mounted from, and whether it shows fresh names at once."""

import pytest

from streamops.storage.self_test import Mount, mount_of

TABLE = r"""
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
40 22 0:40 / /mnt rw,relatime shared:1 - nfs4 server:/export rw,vers=4.2,acregmin=3
41 40 0:41 / /mnt/safe rw,relatime shared:2 master:1 - nfs4 server:/safe rw,vers=4.2,lookupcache=none
42 22 0:42 / /mnt/share\040one rw - cifs //server/share rw,vers=3.1.1,actimeo=1
43 22 0:43 / /over rw - ext4 /dev/sdb1 rw
44 43 0:44 / /over rw - tmpfs tmpfs rw
a line of another kind
"""


@pytest.mark.parametrize(
    ("path", "point", "kind"),
    [
        ("/srv/state", "/", "ext4"),
        ("/mnt", "/mnt", "nfs4"),
        ("/mnt/state", "/mnt", "nfs4"),
        ("/mnt/safe/state", "/mnt/safe", "nfs4"),
        ("/mnt/safer", "/mnt", "nfs4"),
        ("/mnt/share one/state", "/mnt/share one", "cifs"),
        pytest.param("/over/state", "/over", "tmpfs", id="the later of two on one point"),
    ],
)
def test_the_innermost_mount_counts(path, point, kind):
    found = mount_of(path, TABLE)

    assert (found.point, found.kind) == (point, kind)


@pytest.mark.parametrize(
    ("kind", "options", "is_fine"),
    [
        ("ext4", "rw", True),
        ("nfs4", "rw,vers=4.2", False),
        ("nfs4", "rw,lookupcache=pos", False),
        ("nfs", "rw,lookupcache=none", True),
        ("nfs4", "rw,noac", True),
        ("cifs", "rw,actimeo=1", False),
        ("cifs", "rw,actimeo=0", True),
    ],
)
def test_a_network_file_system_needs_options_that_show_fresh_names(kind, options, is_fine):
    trouble = Mount(point="/mnt", kind=kind, options=frozenset(options.split(","))).trouble

    assert (trouble == "") is is_fine
    assert is_fine or ("/mnt" in trouble and kind in trouble)


def test_where_there_is_no_table_nothing_is_known():
    assert mount_of("/srv", "").kind == "unknown"
