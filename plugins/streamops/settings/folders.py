"""Addresses of folders as people write them, made canonical."""

from streamops.errors import SettingsError
from streamops.settings.secrets import PASSWORD_IN_ADDRESS, holds_secret
from streamops.storage import canonical_address
from streamops.storage.address import is_root
from streamops.storage.kinds import storage_for


def resolve_folder(text: str, *, root: str) -> str:
    """The canonical address of a folder that belongs to one owner; SettingsError says what is expected instead."""
    if _has_secret(text):
        raise SettingsError("an address without a password, key or token: declare them in launch.environment")
    try:
        address = canonical_address(text, base=root)
    except ValueError as error:
        raise SettingsError(f"a path: {error}") from error
    if is_root(address):
        raise SettingsError("a folder of its own, not the root of a file system or of a bucket")
    return address


def asked_folder(name: str, text: str, *, root: str) -> str:
    """As resolve_folder, of what a person filled in under a name; nothing for nothing. The SettingsError names it."""
    try:
        return resolve_folder(text.strip(), root=root) if text.strip() else ""
    except SettingsError as error:
        found = "" if _has_secret(text) else f"found {text!r}, "
        raise SettingsError(f"{name}: {found}expected {error}") from error


def resolve_state_folder(text: str, *, root: str) -> str:
    """As resolve_folder, for a folder that the suite itself reads and writes."""
    address = resolve_folder(text, root=root)
    storage_for(address)
    return address


def _has_secret(text: str) -> bool:
    """A path may have any name in it, `token=7` of a partition as well."""
    return bool(PASSWORD_IN_ADDRESS.search(text)) or ("://" in text and holds_secret(text))
