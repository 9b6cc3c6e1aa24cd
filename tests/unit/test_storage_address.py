"""One spelling for each place."""

import pytest

from streamops.storage import canonical_address


@pytest.mark.parametrize(
    "text",
    [
        "/data/cp",
        "file:/data/cp",
        "file:///data/cp/",
        "file://localhost/data/cp",
        "FILE://LOCALHOST/data/cp",
        "//data/cp",
    ],
)
def test_a_local_folder_has_one_spelling(text):
    assert canonical_address(text) == "file:///data/cp"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("file://localhost", "file:///"),
        pytest.param("/localhost/cp", "file:///localhost/cp", id="a folder of that name"),
        pytest.param("file:///localhost/cp", "file:///localhost/cp", id="the same, with a scheme"),
        pytest.param("file://localhosts/cp", "file:///localhosts/cp", id="a name that only begins so"),
    ],
)
def test_only_the_host_of_an_address_is_left_out(text, address):
    assert canonical_address(text) == address
