"""Addresses of files, made comparable in one place.

Two spellings of one checkpoint must never pass for two checkpoints: `s3a://` is `s3://`, a trailing slash means
nothing, and a symlink is the folder behind it.
"""

import os.path
import posixpath
import re

from streamops.errors import SettingsError

_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]*):(.*)$", re.IGNORECASE)
_HOST = re.compile(r"//[^/]")
_WITHOUT_AUTHORITY = frozenset({"hdfs", "viewfs", "dbfs"})
"""Where Hadoop and Databricks know a default host: `hdfs:///x` and `dbfs:/x` are whole addresses."""
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3"}


def canonical_address(text: str, *, base: str = "") -> str:
    """One spelling for each place: `file:///data/orders`, `s3://bucket/orders`.

    A path without scheme is local; a relative one counts from `base` and is refused without it.
    """
    match = _SCHEME.match(text)
    if match is None or match[1].lower() == "file":
        path = match[2] if match else text
        if match and _HOST.match(path):
            raise SettingsError(
                f"{text!r} names a host, which Spark's local file system refuses (Wrong FS): write file:// and a path that"
                f" begins with a slash, file:///{path.strip('/')}"
            )
        return "file://" + _local_path(path, base=base)
    scheme = _SAME_SCHEME.get(match[1].lower(), match[1].lower())
    if len(scheme) == 1:
        raise SettingsError(
            f"{text!r} is a path of Windows: streamops runs on Linux; inside WSL the drive lies below /mnt"
        )
    authority, _, path = match[2].removeprefix("//").partition("/")
    if scheme in _WITHOUT_AUTHORITY and not authority:
        raise SettingsError(
            f"address {text!r}: {scheme} is not supported so far, only local folders are; where it is mounted, name the mount"
        )
    if not match[2].startswith("//") or not authority:
        raise SettingsError(f"address {text!r}: a bucket or host is expected behind {scheme}://")
    normal = posixpath.normpath("/" + path).rstrip("/")
    return f"{scheme}://{authority}{normal}"


def _local_path(text: str, *, base: str) -> str:
    path = "/" + text.lstrip("/") if text.startswith("//") else text
    if not path:
        raise SettingsError("an empty path was given where a folder is expected")
    if not path.startswith("/"):
        if not base:
            raise SettingsError(f"path {text!r} is relative: give an absolute one")
        path = os.path.join(base, path)
    return os.path.realpath(path)


def join(address: str, *parts: str) -> str:
    """The address of something below."""
    return "/".join((address.rstrip("/"), *parts))


def parent(address: str) -> str:
    """The address of the folder around; the root is its own parent."""
    head, separator, _ = address.rstrip("/").rpartition("/")
    return head if separator and not head.endswith(":/") else address


def is_inside(inner: str, outer: str) -> bool:
    """Whether a canonical address is another one or lies below it."""
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def is_root(address: str) -> bool:
    """Whether nothing but a bucket or the root of a file system is named."""
    _, _, rest = address.partition("://")
    return "/" not in rest.strip("/") and not (address.startswith("file://") and rest.strip("/"))


def local_path(address: str) -> str | None:
    """The path of a local address, or None when it lies elsewhere."""
    return address.removeprefix("file://") if address.startswith("file://") else None
