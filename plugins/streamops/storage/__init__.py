"""The only door to files: six verbs, the same for a local folder, memory and (later) object stores."""

from streamops.storage.address import canonical_address, is_inside, join, parent
from streamops.storage.bounds import FileKind, create_file, read_file, write_file
from streamops.storage.port import DEFAULT_READ_LIMIT, FileAccess, FileDetail, ReadableStorage, Storage, WritableStorage

__all__ = [
    "DEFAULT_READ_LIMIT",
    "FileAccess",
    "FileDetail",
    "FileKind",
    "ReadableStorage",
    "Storage",
    "WritableStorage",
    "canonical_address",
    "create_file",
    "is_inside",
    "join",
    "parent",
    "read_file",
    "write_file",
]
