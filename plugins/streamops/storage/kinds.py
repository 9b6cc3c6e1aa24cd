"""Which storage serves which address."""

from streamops.errors import SettingsError
from streamops.storage.local import LocalStorage
from streamops.storage.port import FileAccess, Storage


def storage_for(address: str, *, access: FileAccess = FileAccess.OWNER) -> Storage:
    """The storage behind a canonical address; SettingsError for a scheme that is not supported yet."""
    if address.startswith("file://"):
        return LocalStorage(access)
    raise SettingsError(f"{address}: this version keeps state on local or mounted file systems only (file:///…)")
