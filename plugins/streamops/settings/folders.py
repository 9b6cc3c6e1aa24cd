"""Addresses of folders as people write them, made canonical."""

from streamops.errors import SettingsError
from streamops.settings.refusals import PASSWORD_IN_ADDRESS
from streamops.storage import canonical_address
from streamops.storage.address import is_root
from streamops.storage.kinds import storage_for


def resolve_folder(text: str, *, root: str) -> str:
    """The canonical address of a folder that belongs to one owner; SettingsError says what is expected instead."""
    if PASSWORD_IN_ADDRESS.search(text):
        raise SettingsError("an address without a password: give it by environment")
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
        found = "" if PASSWORD_IN_ADDRESS.search(text) else f"found {text!r}, "
        raise SettingsError(f"{name}: {found}expected {error}") from error


def resolve_state_folder(text: str, *, root: str) -> str:
    """As resolve_folder, for a folder that the suite itself reads and writes."""
    address = resolve_folder(text, root=root)
    storage_for(address)
    return address
