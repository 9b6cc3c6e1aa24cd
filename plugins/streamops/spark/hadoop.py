"""The driver's files through the JVM's Hadoop FileSystem: the same credentials and schemes as the stream itself."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from streamops.errors import ObjectNotFoundError, ObjectTooLargeError, StorageError
from streamops.spark.failure import java_exception
from streamops.storage import DEFAULT_READ_LIMIT, FileDetail

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HadoopStorage:
    """Read and replace files. It has no exclusive create: Hadoop's is none on `s3a://` nor on `file:` (measured)."""

    def __init__(self, spark: "SparkSession") -> None:
        self._jvm: Any = spark._jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._configuration = spark.sparkContext._jsc.hadoopConfiguration()

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        with self._translated(directory):
            names = [status.getPath().getName() for status in self._statuses(directory)]
        return tuple(sorted(name for name in names if name > after))

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        with self._translated(directory):
            found = [_detail(status) for status in self._statuses(directory) if status.isFile()]
        named = (detail for detail in found if only is None or detail.name in only)
        return tuple(sorted(named, key=lambda detail: detail.name))

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        path = self._path(address)
        with self._translated(address):
            stream = self._file_system(path).open(path)
            try:
                content = bytes(stream.readNBytes(limit + 1))
            finally:
                stream.close()
        if len(content) > limit:
            raise ObjectTooLargeError(f"{address} is larger than {limit} bytes: it is not what it claims to be")
        return content

    def write(self, address: str, content: bytes) -> None:
        # Written aside and renamed over: a plain create shows an empty file first.
        path, aside = self._path(address), self._path(address + ".tmp")
        with self._translated(address):
            stream = self._file_system(path).create(aside, True)
            try:
                stream.write(content)
            finally:
                stream.close()
            self._replace(aside, path)

    def _statuses(self, directory: str) -> Any:
        """What lies directly below; nothing where there is no such directory."""
        path = self._path(directory)
        try:
            statuses = self._file_system(path).listStatus(path)
        except Exception as error:
            if _java_class(error) == "java.io.FileNotFoundException":
                return ()
            raise
        if (
            len(statuses) == 1
            and statuses[0].isFile()
            and statuses[0].getPath().toUri().getPath() == path.toUri().getPath()
        ):
            raise StorageError(f"{directory} is a file, a folder is expected")
        return statuses

    def _replace(self, aside: Any, path: Any) -> None:
        if _is_local(path):
            # rename(2), which replaces at once and refuses a folder. Hadoop's own renames delete first and leave a gap
            # (FileContext, seen with 3.5.0), or move into a folder and report success (RawLocalFileSystem).
            nio = self._jvm.java.nio.file
            options = self._gateway.new_array(nio.CopyOption, 1)
            options[0] = nio.StandardCopyOption.ATOMIC_MOVE
            nio.Files.move(self._nio_path(aside), self._nio_path(path), options)
            return
        renames = self._jvm.org.apache.hadoop.fs.Options.Rename
        overwrite = self._gateway.new_array(renames, 1)
        overwrite[0] = renames.OVERWRITE
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(path.toUri(), self._configuration)
        context.rename(aside, path, overwrite)

    def _nio_path(self, path: Any) -> Any:
        # Hadoop leaves letters beyond ASCII raw in a URI, and java.nio takes them escaped only.
        return self._jvm.java.nio.file.Paths.get(self._jvm.java.net.URI(path.toUri().toASCIIString()))

    def _file_system(self, path: Any) -> Any:
        """The file system of a path; a local one without checksum side files, which supervisors neither write nor read."""
        file_system = path.getFileSystem(self._configuration)
        return file_system.getRawFileSystem() if _is_local(path) else file_system

    def _path(self, address: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(address)

    @contextmanager
    def _translated(self, address: str) -> Iterator[None]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (Py4JError, PySparkException) as error:  # PySpark turns some of Java's exceptions into its own
            if _java_class(error) == "java.io.FileNotFoundException":
                raise ObjectNotFoundError(f"{address} does not exist") from error
            raise StorageError(f"{address}: {_java_text(error)}") from error


def _detail(status: Any) -> FileDetail:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=status.getModificationTime())
    return FileDetail(name=str(status.getPath().getName()), size=int(status.getLen()), modified_at=moment)


def _is_local(path: Any) -> bool:
    return bool(path.toUri().getScheme() == "file")


def _java_class(error: BaseException) -> str:
    exception = java_exception(error)
    return str(exception.getClass().getName()) if exception is not None else ""


def _java_text(error: BaseException) -> str:
    exception = java_exception(error)
    return str(exception.toString()) if exception is not None else repr(error)
