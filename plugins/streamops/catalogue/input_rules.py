"""Rules about the input folder of a file source: moved, rewritten, too old ever to be read, waiting."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.watch import Watch
from streamops.formatting import listed
from streamops.liveness.pace import in_words
from streamops.places.input_files import InputFacts, InputFile
from streamops.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5
SAME_MOMENT = timedelta(seconds=1)
"""Some file systems keep whole seconds only."""


def unseen_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """The input folder can't be listed from here."""
    if found.problem:
        yield Finding(
            rule="unseen-input",
            severity=Severity.UNKNOWN,
            file=found.source,
            evidence=f"{found.address!r}: {found.problem}",
            meaning="whether the query would find its input is not known",
            repair="see whether the address is right, and whether this host has what the query's hosts have",
        )


def moved_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """No file that was ever read lies in the input folder: it is another one, and the log knows full addresses.

    So on Spark 3.5 to 4.3.
    """
    if not found.is_moved:
        return
    yield Finding(
        rule="moved-input",
        severity=Severity.CRITICAL,
        file=found.source,
        evidence=f"{len(found.recorded)} files were read, none below {found.address!r}; the last was"
        f" {found.recorded[-1].address!r}",
        meaning="a start fails with `Wrong basePath` where its last batch had input; otherwise it reads all files anew",
        repair="start the query with the folder that it has read so far, and put the files back there",
        not_when="for a query that is meant to read another folder: give it a new checkpoint",
        start=StartEffect(
            kind=AtStart.REPEATS,
            summary=f"nothing that was read lies below {found.address!r}: a start fails, or reads all files there as new",
        ),
    )


def foreign_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Among what was read are files of another folder: an entry of the log is another query's, or was edited.

    What it named itself is new to the source then (tried on 4.2.0).
    """
    if not found.outside:
        return
    evidence = (
        f"{len(found.outside)} files outside of {found.address!r}: {_named([file.address for file in found.outside])}"
    )
    yield Finding(
        rule="foreign-input",
        severity=Severity.CRITICAL,
        file=found.source,
        evidence=evidence,
        meaning="a start fails with `Wrong basePath` where its newest batch had them; otherwise it reads the files again that"
        " stood there before",
        repair=f"restore {found.source} from a copy",
        not_when="when the query did read those folders, one after the other or by a pattern",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"{found.source} names {evidence}: a start fails on them, or reads again what stood there before",
        ),
    )


def forgotten_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A file that was read is younger now than when it was read, and its entry in the log is older than `maxFileAge`.

    Spark forgets such an entry as soon as it has read the log (SeenFilesMap, tried on 4.2.0). A copy without the files' own
    times (`cp -r`, a restored bucket) does this to all of them.
    """
    if not (names := _forgotten(found, expected)):
        return
    evidence = (
        f"{len(names)} files were read with times before {_age_limit(found, expected):%Y-%m-%d %H:%M:%S} UTC and are younger"
        f" now: {_named(names)}"
    )
    yield Finding(
        rule="forgotten-input",
        severity=Severity.CRITICAL,
        file=found.source,
        evidence=evidence,
        meaning=f"with a `maxFileAge` of {in_words(expected.max_file_age)} the source has forgotten them and reads them again",
        repair="set their times back to those in the source's log, or raise the source's option `maxFileAge`, before the next"
        " start",
        not_when="when they were written anew on purpose, to be read again; with `latestFirst` and a limit of files or bytes a"
        " batch, which switch `maxFileAge` off",
        start=StartEffect(kind=AtStart.UNDECIDED, summary=f"{evidence}: they are read again"),
    )


def renamed_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A file that was read is gone, and a new one has its very time: it has another name now, or its entry was edited.

    The log knows files by their addresses, so that it is read again (FileStreamSource, tried on 4.2.0).
    """
    limit = _age_limit(found, expected) if found.recorded else None
    pairs = [(was, now) for was, now in found.renamed if limit is None or now.modified_at >= limit]
    if not pairs:
        return
    # Where times are whole seconds, two files may well have one.
    is_sure = any(was.modified_at.microsecond for was, _ in pairs)
    names = [f"{was.address.rpartition('/')[2]} → {now.address.rpartition('/')[2]}" for was, now in pairs]
    evidence = f"{len(pairs)} files were read under names that are gone, and lie there as new: {_named(names)}"
    yield Finding(
        rule="renamed-input",
        severity=Severity.CRITICAL if is_sure else Severity.WARNING,
        file=found.source,
        evidence=evidence,
        meaning="the source does not know them under the new names, and reads them again",
        repair=f"give the files their old names back; if nobody renamed them, restore {found.source} from a copy",
        not_when="when they are other files, which only have the same times",
        start=StartEffect(kind=AtStart.UNDECIDED, summary=f"{evidence}: they are read again") if is_sure else None,
    )


def replaced_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A file that the next batch reads was written again after the source had taken it for that batch.

    The batch reads what is there now (tried on 4.2.0): what was planned is lost, or what the sink has had of the batch is not
    what comes.
    """
    replaced = [file for file in found.planned if file.found_at and file.found_at - file.modified_at > SAME_MOMENT]
    names = [file.address for file in replaced]
    if not names:
        return
    evidence = f"{len(names)} files of the next batch are younger than when it was planned: {_named(names)}"
    yield Finding(
        rule="replaced-input",
        severity=Severity.WARNING if expected.has_driver else Severity.CRITICAL,
        file=found.source,
        evidence=evidence,
        meaning="the batch reads what is in them now; if that is not what was there, rows are lost, or come beside others that"
        " the sink has had of the batch",
        repair="put the files back as they were, with their times; where their content is the same, set their times back to those"
        " in the source's log",
        not_when="when the new content is what the batch is to read, and the sink has had nothing of it: then set the times back",
        start=StartEffect(
            kind=AtStart.UNDECIDED,
            summary=f"{evidence}: it reads what is in them now",
            in_flight_only=all(file.is_in_flight for file in replaced),
        )
        # A living driver has read them, or fails on them by itself.
        if not expected.has_driver
        else None,
    )


def overwritten_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A file was written again after it was read: the source knows it by its name, and never reads it again (SPARK-26875)."""
    told = {*_forgotten(found, expected), *(file.address for file in found.planned)}
    again = [file.address for file, _ in _younger_than_read(found) if file.address not in told]
    if again:
        yield Finding(
            rule="overwritten-input",
            severity=Severity.WARNING,
            file=found.source,
            evidence=f"{len(again)} files are younger than when they were read: {_named(again)}",
            meaning="what is in them now is never read, and no error tells",
            repair="write the new content under new names",
            not_when="when they were only copied or touched: the content was read then",
        )


def aged_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """A file is older than `maxFileAge` below the youngest that was read: the source passes over it for ever (SPARK-19813)."""
    if found.is_moved or not found.recorded:
        return
    limit = _age_limit(found, expected)
    old = [file.address for file in found.unread if file.modified_at < limit]
    if old:
        yield Finding(
            rule="aged-input",
            severity=Severity.WARNING,
            file=found.source,
            evidence=f"{len(old)} files were never read and are from before {limit:%Y-%m-%d %H:%M:%S} UTC: {_named(old)}",
            meaning=f"with a `maxFileAge` of {in_words(expected.max_file_age)} they are never read, and no error tells",
            repair="copy them under new names, so that they are young, or raise the source's option `maxFileAge`",
            not_when="with `latestFirst` and a limit of files or bytes a batch, which switch `maxFileAge` off",
        )


def waiting_input(found: InputFacts, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Files lie there that the next batches will read."""
    if found.is_moved:
        return
    limit = _age_limit(found, expected) if found.recorded else None
    renamed = {now.address for _, now in found.renamed}
    young = [file for file in found.unread if limit is None or file.modified_at >= limit]
    waiting = [file for file in young if file.address not in renamed]
    if not waiting:
        return
    oldest = min(file.modified_at for file in waiting)
    committed = watch.times.committed_at
    since = f"; the last commit is {in_words(watch.now - committed)} old" if committed else ""
    yield Finding(
        rule="waiting-input",
        severity=Severity.NOTE,
        file=found.source,
        evidence=f"{len(waiting)} files are not read yet, the oldest has waited for {in_words(watch.now - oldest)}{since}",
        meaning="the next batches read them; if a query is meant to run all the time, see whether it does",
    )


def _younger_than_read(found: InputFacts) -> Iterator[tuple[InputFile, datetime]]:
    """Files with the time that they had when they were read."""
    read_at = {file.address: file.modified_at for file in found.recorded}
    for file in found.files:
        if file.address in read_at and file.modified_at - read_at[file.address] > SAME_MOMENT:
            yield file, read_at[file.address]


def _forgotten(found: InputFacts, expected: Expectations) -> list[str]:
    """Files that were read and count as new. One that was read under two times is written anew on purpose, again and again."""
    if not found.recorded:
        return []
    limit = _age_limit(found, expected)
    times: dict[str, set[datetime]] = {}
    for file in found.recorded:
        times.setdefault(file.address, set()).add(file.modified_at)
    return [
        file.address
        for file, read_at in _younger_than_read(found)
        if read_at < limit <= file.modified_at and len(times[file.address]) == 1
    ]


def _age_limit(found: InputFacts, expected: Expectations) -> datetime:
    youngest = max(file.modified_at for file in found.recorded)
    try:
        return youngest - expected.max_file_age
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _named(addresses: Sequence[str]) -> str:
    return listed([repr(address) for address in addresses], SHOWN)
