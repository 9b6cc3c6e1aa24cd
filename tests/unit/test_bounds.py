"""Nothing that the suite writes is larger than what it reads."""

import re
from pathlib import Path

import pytest

import streamops
from streamops.errors import ObjectTooLargeError
from streamops.storage import FileKind, create_file, read_file, write_file
from streamops.storage.bounds import BOUNDS, Bound
from streamops.storage.memory import MemoryStorage

ADDRESS = "memory://orders.streamops/file"
KINDS = pytest.mark.parametrize("kind", FileKind)
PUTS = pytest.mark.parametrize("put", [write_file, create_file])


@KINDS
@PUTS
def test_the_largest_file_that_is_written_is_read_again(kind, put):
    storage, content = MemoryStorage(), b"x" * BOUNDS[kind].written

    put(storage, kind, ADDRESS, content)

    assert read_file(storage, kind, ADDRESS) == content


@KINDS
@PUTS
def test_a_larger_one_is_refused_before_anything_is_written(kind, put):
    storage = MemoryStorage()

    with pytest.raises(
        ObjectTooLargeError, match=rf"{ADDRESS} was not written: as {kind} it may have \d+ bytes, it would have"
    ):
        put(storage, kind, ADDRESS, b"x" * (BOUNDS[kind].written + 1))

    assert storage.list("memory://orders.streamops") == ()


def test_a_bound_that_allows_more_than_is_read_cannot_be_made():
    with pytest.raises(ValueError, match="2 bytes may be written and 1 are read"):
        Bound(written=2, read=1)


def test_no_other_place_writes_files_of_the_suite():
    """A writer that goes round the table has no bound. Exempt: Spark's own files, the library, and tries of a folder."""
    package = Path(streamops.__file__).parent
    exempt = {"storage/bounds.py", "storage/self_test.py", "spark/prepared_batch.py", "supervision/bundle.py"}
    writes = re.compile(r"storage\.(write|create)\(")

    found = {str(path.relative_to(package)) for path in package.rglob("*.py") if writes.search(path.read_text())}

    assert found == exempt
