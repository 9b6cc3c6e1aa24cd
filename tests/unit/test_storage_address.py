"""One spelling for each place."""

import pytest

from streamops.errors import SettingsError
from streamops.storage import canonical_address


@pytest.mark.parametrize(
    "text",
    [
        "/data/cp",
        "file:/data/cp",
        "file:///data/cp/",
        "//data/cp",
    ],
)
def test_a_local_folder_has_one_spelling(text):
    assert canonical_address(text) == "file:///data/cp"


@pytest.mark.parametrize("text", ["/localhost/cp", "file:///localhost/cp"])
def test_a_folder_may_be_called_like_a_host(text):
    assert canonical_address(text) == "file:///localhost/cp"


@pytest.mark.parametrize("text", ["file://localhost/data", "FILE://LOCALHOST/data", "file://data/cp"])
def test_a_host_in_an_address_of_files_is_refused_as_hadoop_refuses_it(text):
    """Hadoop's local file system says `Wrong FS` (3.5, tried with Spark 4.2.0)."""
    with pytest.raises(SettingsError, match=r"names a host.*file:///"):
        canonical_address(text)
