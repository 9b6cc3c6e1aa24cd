"""What the repairs of findings say, carried out to the letter on a damaged copy.

A way belongs to a rule and to a phrase of its repair; where the text has no phrase that is known here, that is told, so that a
text that changes is noticed. Two things are at hand for all of them: an undamaged copy, and what progress events showed.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damage.bases import batches
from damage.checksums import side_file
from damage.queries import Kind

Finding = dict[str, Any]


class CannotBeDoneError(Exception):
    """The text asks for something that is not at hand in this case."""


@dataclass(slots=True, kw_only=True)
class Patient:
    """A damaged copy, and what is known of it from elsewhere."""

    kind: Kind
    variant: str
    folder: Path
    copy: Path
    """The folder as it was before the damage."""

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def sink_has_newest(self) -> bool:
        """Whether the sink has had the batch that is planned last."""
        return self.variant in ("stopped", "killed")

    def restore(self, place: str) -> None:
        """A file or folder as it is in the copy, copied with `cp`: hidden files beside it stay as they are."""
        source, target = self.copy / place, self.folder / place
        if not source.exists():
            raise CannotBeDoneError(f"the copy has no {place}")
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)

    def aside(self, file: Path) -> None:
        """Out of the folder, with its checksum."""
        away = self.folder / "aside"
        away.mkdir(exist_ok=True)
        for one in (file, side_file(file)):
            if one.exists():
                one.rename(away / one.name)

    def ends(self, batch: int) -> list[str]:
        """The lines of the sources, as the progress event of a batch shows them."""
        file = self.copy / "checkpoint" / "offsets" / str(batch)
        if not file.exists():
            raise CannotBeDoneError(f"no progress event of batch {batch}")
        return file.read_text().split("\n")[2:]

    def rebuild(self, batch: int, below: int) -> None:
        """An entry made of the header of another one and the end offsets of its own batch."""
        source = self.checkpoint / "offsets" / str(below)
        if not source.exists():
            raise CannotBeDoneError(f"no offsets/{below}")
        try:
            header = source.read_text().split("\n")[:2]
        except UnicodeDecodeError as error:
            raise CannotBeDoneError(f"offsets/{below} is no text") from error
        (self.checkpoint / "offsets" / str(batch)).write_text("\n".join([*header, *self.ends(batch)]))

    @property
    def query_id(self) -> str:
        return str(json.loads((self.copy / "checkpoint" / "metadata").read_text())["id"])


Act = Callable[[Patient, Finding], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One of the ways out that a repair offers."""

    name: str
    phrase: str
    """A pattern in the text of the repair."""
    act: Act | None = None
    """None where it can't be done by this run: it needs another query, another Spark, or a person's judgement."""
    is_allowed: Callable[[Patient], bool] = lambda patient: True
    """What the finding's `not_when` says."""
    repeats: bool = False
    """Whether the text says that batches come again otherwise than they came."""


def _batch(finding: Finding) -> int:
    found = re.search(r"/\.?(\d+)", str(finding["file"]))
    if not found:
        raise CannotBeDoneError(f"no batch in {finding['file']!r}")
    return int(found[1])


def _restore_named(patient: Patient, finding: Finding) -> None:
    if not finding["file"]:
        raise CannotBeDoneError("no file is named")
    patient.restore(f"checkpoint/{finding['file']}")


def _restore_changed_entries(patient: Patient, finding: Finding) -> None:
    for name in re.findall(r"(?:offsets|commits|sources/\w+)/\d+(?:\.compact)?|metadata", finding["evidence"]):
        patient.restore(f"checkpoint/{name}")


def _restore_files(patient: Patient, finding: Finding) -> None:
    """All that are missing or other than in the copy, below what is named."""
    place = f"checkpoint/{finding['file']}"
    source = patient.copy / place
    if not source.exists():
        raise CannotBeDoneError(f"the copy has no {place}")
    # A file of state that is broken may be named for those that it refers to.
    root = source if source.is_dir() else source.parent
    restored = 0
    for file in sorted(root.rglob("*")):
        target = patient.folder / file.relative_to(patient.copy)
        hidden = file.name.startswith(".")
        if file.is_file() and not hidden and (not target.exists() or target.read_bytes() != file.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            restored += 1
    if not restored:
        raise CannotBeDoneError(f"the copy has no more of {place}")


def _restore_state_files(patient: Patient, finding: Finding) -> None:
    """As `_restore_files`, and the hidden checksums beside them are deleted."""
    _restore_files(patient, finding)
    place = patient.checkpoint / str(finding["file"])
    for side in (place if place.is_dir() else place.parent).rglob(".*.crc"):
        side.unlink()


def _restore_each(*places: str) -> Act:
    def act(patient: Patient, finding: Finding) -> None:
        for place in places:
            if (patient.copy / place).exists():
                patient.restore(place)

    return act


def _restore_quoted(pattern: str) -> Act:
    """The entries that the text names, in the groups of a pattern."""

    def act(patient: Patient, finding: Finding) -> None:
        named = re.search(pattern, str(finding["repair"]))
        assert named
        for name in named.groups():
            patient.restore(f"checkpoint/{name}")

    return act


def _restore_state_files_or_commit(patient: Patient, finding: Finding) -> None:
    """Whichever the copy has: files under the names that are missing, or the commit that gives other names."""
    missing = re.findall(r"\d+_[0-9a-f-]{36}\.\w+", str(finding["evidence"]))
    if missing and not any(list((patient.copy / "checkpoint" / "state").rglob(name)) for name in missing):
        _restore_quoted(r"has none of these names, (commits/\d+)")(patient, finding)
    else:
        _restore_state_files(patient, finding)


def _move_aside(patient: Patient, finding: Finding) -> None:
    named = re.search(r"move (offsets/\d+) aside", str(finding["repair"]))
    assert named
    patient.aside(patient.checkpoint / named[1])


def _with_entry_below(patient: Patient, finding: Finding) -> list[int]:
    """The entry that the finding is about, and the one below it, which with async progress tracking has no number next to it."""
    batch = _batch(finding)
    below = [one for one in batches(patient.checkpoint / "offsets") if one < batch]
    return [*([max(below)] if below else []), batch]


def _restore_with_entry_below(patient: Patient, finding: Finding) -> None:
    for one in _with_entry_below(patient, finding):
        if (patient.copy / "checkpoint" / "offsets" / str(one)).exists():
            patient.restore(f"checkpoint/offsets/{one}")


def _ends_of_both(patient: Patient, finding: Finding) -> None:
    """Both entries get the end offsets that the progress events of their batches show."""
    for one in _with_entry_below(patient, finding):
        file = patient.checkpoint / "offsets" / str(one)
        if file.exists():
            lines = file.read_text().split("\n")
            file.write_text("\n".join([*lines[:2], *patient.ends(one)]))
            if "`batchTimestampMs`" in finding["repair"]:
                told = _header(patient.copy / "checkpoint" / "offsets" / str(one))
                times = {name: told[name] for name in ("batchTimestampMs", "batchWatermarkMs")}
                _write_header(file, _header(file) | times)


def _restore_newest_entries(patient: Patient, finding: Finding) -> None:
    for log in ("offsets", "commits"):
        for file in sorted((patient.copy / "checkpoint" / log).glob("[0-9]*")):
            if not (patient.checkpoint / log / file.name).exists():
                patient.restore(f"checkpoint/{log}/{file.name}")


def _restore_entries_and_log(patient: Patient, finding: Finding) -> None:
    """The two entries that the text names, and the entries of the log that are missing."""
    _restore_quoted(r"restore (offsets/\d+) and (offsets/\d+)")(patient, finding)
    place = f"checkpoint/{finding['file']}"
    for file in sorted((patient.copy / place).glob("[0-9]*")):
        if not (patient.folder / place / file.name).exists():
            patient.restore(f"{place}/{file.name}")


def _restore_operators(patient: Patient, finding: Finding) -> None:
    for place in re.findall(r"state/\d+", str(finding["evidence"])):
        patient.restore(f"checkpoint/{place}")


def _header(entry: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(entry.read_text().split("\n")[1])
    except (ValueError, IndexError) as error:
        raise CannotBeDoneError(f"{entry.name} has no header that can be read: {error}") from error
    return found


def _write_header(entry: Path, header: dict[str, Any]) -> None:
    lines = entry.read_text().split("\n")
    lines[1] = json.dumps(header, separators=(",", ":"))
    entry.write_text("\n".join(lines))


def _conf_of_entry_below(patient: Patient, finding: Finding) -> None:
    """The one setting that the text names becomes what it is in the entry below."""
    batch, key = _batch(finding), re.search(r"spark\.[\w.]+", str(finding["evidence"]))
    file, below = (patient.checkpoint / "offsets" / str(one) for one in (batch, batch - 1))
    if key is None or not below.exists():
        raise CannotBeDoneError(f"no setting, or no offsets/{batch - 1}")
    header, other = _header(file), _header(below)
    if key[0] not in other["conf"]:
        raise CannotBeDoneError(f"offsets/{batch - 1} has no {key[0]}")
    header["conf"] = (header.get("conf") or {}) | {key[0]: other["conf"][key[0]]}
    _write_header(file, header)


def _partitions_of_other_entry(patient: Patient, finding: Finding) -> None:
    key, named = "spark.sql.shuffle.partitions", re.search(r"the value of (offsets/\d+)", str(finding["repair"]))
    assert named
    file, other = patient.checkpoint / str(finding["file"]), _header(patient.checkpoint / named[1])
    header = _header(file)
    header["conf"] = (header.get("conf") or {}) | {key: other["conf"][key]}
    _write_header(file, header)


def _renumber(patient: Patient, finding: Finding) -> None:
    """Each entry of the named files gets the number of its file."""
    for place, number in re.findall(r"(sources/\w+)/(\d+)\b", str(finding["evidence"])):
        file = patient.checkpoint / place / number
        version, *lines = file.read_text().split("\n")
        entries = [
            json.dumps(json.loads(line) | {"batchId": int(number)}, separators=(",", ":")) for line in lines if line
        ]
        file.write_text("\n".join([version, *entries]))


def _leave_each_once(patient: Patient, finding: Finding) -> None:
    for name in _named_source_files(finding):
        file = patient.checkpoint / name
        version, *lines = file.read_text().split("\n")
        file.write_text("\n".join([version, *dict.fromkeys(lines)]))


def _rebuild_on_entry_below(patient: Patient, finding: Finding) -> None:
    patient.rebuild(_batch(finding), _batch(finding) - 1)


def _rebuild_on_older_entry(patient: Patient, finding: Finding) -> None:
    batch = _batch(finding)
    older = [one for one in batches(patient.checkpoint / "offsets") if one < batch]
    if not older:
        raise CannotBeDoneError("there is no older entry")
    patient.rebuild(batch, max(older))


def _write_id(patient: Patient, finding: Finding) -> None:
    (patient.checkpoint / "metadata").write_text(json.dumps({"id": patient.query_id}, separators=(",", ":")))


def _delete_commit(patient: Patient, finding: Finding) -> None:
    file = patient.checkpoint / str(finding["file"])
    for one in (file, side_file(file)):
        one.unlink(missing_ok=True)


def _delete_commits_ahead(patient: Patient, finding: Finding) -> None:
    for batch in re.findall(r"commits/(\d+)", str(finding["repair"])):
        file = patient.checkpoint / "commits" / batch
        for one in (file, side_file(file)):
            one.unlink(missing_ok=True)


def _restore_missing_offsets(patient: Patient, finding: Finding) -> None:
    for file in sorted((patient.copy / "checkpoint" / "offsets").glob("[0-9]*")):
        if not (patient.checkpoint / "offsets" / file.name).exists():
            patient.restore(f"checkpoint/offsets/{file.name}")


def _delete_checksum(patient: Patient, finding: Finding) -> None:
    (patient.checkpoint / str(finding["file"])).unlink()


def _source_lines(patient: Patient, folder: str) -> dict[int, list[str]]:
    """Of each id of a source's log, from the copy: a person would look at the input folder."""
    lines: dict[int, set[str]] = {}
    for file in sorted((patient.copy / "checkpoint" / folder).glob("[0-9]*")):
        for line in file.read_text().split("\n")[1:]:
            if line.strip():
                lines.setdefault(json.loads(line)["batchId"], set()).add(line)
    return {log_id: sorted(found) for log_id, found in lines.items()}


def _times_of_the_log(patient: Patient, finding: Finding) -> None:
    for file in sorted((patient.checkpoint / str(finding["file"])).glob("[0-9]*")):
        for line in file.read_text().split("\n")[1:]:
            entry = json.loads(line) if line.strip() else {}
            read = Path(str(entry.get("path")))
            place = patient.folder / read.parent.name / read.name
            if f"/{read.parent.name}/{read.name}'" in finding["evidence"] and place.exists():
                os.utime(place, ns=(entry["timestamp"] * 1_000_000,) * 2)


def _rewrite_source_log(patient: Patient, finding: Finding) -> None:
    folder = "/".join(str(finding["file"]).split("/")[:2])
    lines = _source_lines(patient, folder)
    names = re.findall(r"\d+(?:\.compact)?(?=,| )", str(finding["evidence"]).partition(" lacks ")[2].partition(";")[0])
    if not names:
        raise CannotBeDoneError("no names are given")
    for name in names:
        number = int(name.partition(".")[0])
        ids = [one for one in sorted(lines) if one <= number] if name.endswith(".compact") else [number]
        text = "\n".join(["v1", *(line for one in ids for line in lines.get(one, ()))])
        target = patient.checkpoint / folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def _rewrite_misplaced(patient: Patient, finding: Finding) -> None:
    for folder, number, suffix in re.findall(r"(sources/\w+)/(\d+)(\.compact)?", str(finding["evidence"])):
        known = _source_lines(patient, folder)
        ids = sorted(one for one in known if one <= int(number)) if suffix else [int(number)]
        lines = [line for one in ids for line in known.get(one, [])]
        (patient.checkpoint / folder / f"{number}{suffix}").write_text("\n".join(["v1", *lines]))


def _restore_misplaced(patient: Patient, finding: Finding) -> None:
    for name in _named_source_files(finding):
        patient.restore(f"checkpoint/{name}")


def _named_source_files(finding: Finding) -> list[str]:
    return re.findall(r"sources/\w+/\d+(?:\.compact)?", str(finding["evidence"]))


def _put_input_back(patient: Patient, finding: Finding) -> None:
    for folder in patient.kind.inputs:
        for file in sorted((patient.copy / folder).glob("*.json")):
            if not (patient.folder / folder / file.name).exists():
                shutil.copy2(file, patient.folder / folder / file.name)


def _put_input_as_it_was(patient: Patient, finding: Finding) -> None:
    """The files that are named, with their times."""
    for folder in patient.kind.inputs:
        for file in sorted((patient.copy / folder).glob("*.json")):
            if f"/{folder}/{file.name}'" in finding["evidence"]:
                shutil.copy2(file, patient.folder / folder / file.name)


def _header_value(key: str) -> Act:
    """A value of the header as it is in the entry below."""

    def act(patient: Patient, finding: Finding) -> None:
        batch = _batch(finding)
        file, below = (patient.checkpoint / "offsets" / str(one) for one in (batch, batch - 1))
        if not below.exists():
            raise CannotBeDoneError(f"no offsets/{batch - 1}")
        _write_header(file, _header(file) | {key: _header(below)[key]})

    return act


def _first_line_v1(patient: Patient, finding: Finding) -> None:
    file = patient.checkpoint / str(finding["file"])
    file.write_text("\n".join(["v1", *file.read_text().split("\n")[1:]]))


def _offsets_of_progress(patient: Patient, finding: Finding) -> None:
    file = patient.checkpoint / str(finding["file"])
    lines = file.read_text().split("\n")
    file.write_text("\n".join([*lines[:2], *patient.ends(_batch(finding))]))


def _move_odd_names(patient: Patient, finding: Finding) -> None:
    for name in re.findall(r"'([^']+)'", str(finding["evidence"])):
        patient.aside(patient.checkpoint / str(finding["file"]) / name)


def _restore_data_files(patient: Patient, finding: Finding) -> None:
    """What the copy has: the versions that wait to be read were written to it anew, under other names."""
    restored = 0
    for file in sorted((patient.copy / "in").rglob("*")):
        target = patient.folder / "in" / file.relative_to(patient.copy / "in")
        if file.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
            restored += 1
    if "version" in finding["evidence"] and not _has_all_files(patient):
        raise CannotBeDoneError(f"the copy has {restored} of them, and not all")


def _has_all_files(patient: Patient) -> bool:
    """Whether each data file that a commit of the table adds is there."""
    for commit in (patient.folder / "in" / "_delta_log").glob("*.json"):
        for line in commit.read_text(errors="replace").splitlines():
            added = json.loads(line).get("add") if line.startswith('{"add"') else None
            if added and not (patient.folder / "in" / added["path"]).exists():
                return False
    return True


def _restore_named_commits(patient: Patient, finding: Finding) -> None:
    """Of the table that is read, each with its checksum."""
    evidence = str(finding["evidence"])
    lacking = [f"{int(version):020d}" for version in re.findall(r"lacks version (\d+)", evidence)]
    for version in (*re.findall(r"(\d{20})\.(?:json|crc)", evidence), *lacking):
        for suffix in ("json", "crc"):
            if (patient.copy / "in" / "_delta_log" / f"{version}.{suffix}").exists():
                patient.restore(f"in/_delta_log/{version}.{suffix}")


RESTORE = Way(name="restore", phrase=r"restore it from a copy", act=_restore_named)
RESTORE_BOTH = Way(
    name="restore both entries",
    phrase=r"restore it and the entry below it from a copy|restore offsets/\d+ and offsets/\d+ from a copy",
    act=_restore_with_entry_below,
)
ENDS_OF_BOTH = Way(
    name="end offsets of the progress events",
    phrase="with the end offsets that the progress events of their batches show|put the end offsets in their place that the",
    act=_ends_of_both,
)
ID = Way(name="write the id", phrase=r'write `\{"id":"', act=_write_id)
NEW_CHECKPOINT = Way(name="new checkpoint", phrase="begin a new checkpoint")

WAYS: dict[str, tuple[Way, ...]] = {
    "unreadable-metadata": (ID,),
    "missing-metadata": (ID,),
    "unknown-to-sink": (ID,),
    "unreadable-newest-offsets": (
        Way(
            name="move aside",
            phrase=r"move offsets/\d+ aside, and `\.\d+\.crc` with it",
            act=_move_aside,
            is_allowed=lambda patient: not patient.sink_has_newest,
        ),
        Way(name="restore", phrase=r"restore offsets/\d+ from a copy", act=_restore_named),
        Way(
            name="rebuild from the entry below",
            phrase=r"rebuild it from offsets/\d+ and the end offsets that the progress event",
            act=_rebuild_on_entry_below,
        ),
    ),
    "unreadable-previous-offsets": (
        RESTORE,
        Way(
            name="rebuild from an older entry",
            phrase="write it anew: a copy of an older entry with the end offsets that the progress event",
            act=_rebuild_on_older_entry,
        ),
    ),
    "missing-previous-offsets": (
        RESTORE,
        Way(
            name="move aside",
            phrase=r"otherwise move offsets/\d+ aside, and `\.\d+\.crc` with it",
            act=_move_aside,
            is_allowed=lambda patient: not patient.sink_has_newest,
        ),
        Way(
            name="rebuild from an older entry",
            phrase=r"write offsets/\d+ anew: a copy of the entry below it with the end offsets",
            act=_rebuild_on_older_entry,
        ),
    ),
    "missing-offsets-of-last-commit": (
        RESTORE,
        Way(
            name="rebuild from an older entry",
            phrase=r"write offsets/\d+ anew: a copy of the entry below it with the end offsets",
            act=_rebuild_on_older_entry,
        ),
    ),
    "unreadable-last-commit": (
        Way(
            name="delete the commit",
            phrase=r"delete commits/\d+ and `\.\d+\.crc` beside it",
            act=_delete_commit,
            is_allowed=lambda patient: "unique-ids" not in patient.kind.name,
        ),
        Way(
            name="restore commit and entry",
            phrase=r"restore commits/\d+ and offsets/\d+ from a copy",
            act=_restore_quoted(r"restore (commits/\d+) and (offsets/\d+)"),
        ),
    ),
    "commits-ahead": (
        Way(name="restore the offsets", phrase="restore the missing offset entries", act=_restore_missing_offsets),
        Way(
            name="delete the commits",
            phrase=r"only where the sink knows no batches by id, as Kafka's, delete commits/\d+",
            act=_delete_commits_ahead,
            # What the source of a rate gives out depends on how many batches run.
            is_allowed=lambda patient: not patient.kind.shows_its_sink and not patient.kind.feeds_itself,
            repeats=True,
        ),
    ),
    "emptied-logs": (
        Way(
            name="restore both logs",
            phrase="restore both folders from a copy",
            act=_restore_each("checkpoint/offsets", "checkpoint/commits"),
        ),
        NEW_CHECKPOINT,
    ),
    "missing-offsets": (
        Way(name="restore the log", phrase="restore the folder from a copy", act=_restore_each("checkpoint/offsets")),
        NEW_CHECKPOINT,
    ),
    "missing-commits": (
        Way(name="restore the log", phrase="restore the folder from a copy", act=_restore_each("checkpoint/commits")),
    ),
    "commits-missing-below-newest": (
        Way(name="restore the log", phrase="restore the commits from a copy", act=_restore_each("checkpoint/commits")),
    ),
    "odd-batch-names": (Way(name="move them out", phrase="move them out of the folder", act=_move_odd_names),),
    "orphan-checksums": (
        Way(name="restore", phrase=r"restore offsets/\d+ from a copy", act=_restore_quoted(r"restore (offsets/\d+)")),
        Way(
            name="write anew",
            phrase="or write it anew with the end offsets that the progress event",
            act=_rebuild_on_entry_below,
        ),
        Way(
            name="delete the checksum of an entry",
            phrase=r"delete offsets/\.\d+\.crc alone only where the sink did not get batch",
            act=_delete_checksum,
            is_allowed=lambda patient: not patient.sink_has_newest,
        ),
        Way(name="delete the checksum of a commit", phrase=r"delete commits/\.\d+\.crc", act=_delete_checksum),
    ),
    "missing-source-log": (
        Way(
            name="restore the entries and the log",
            phrase=r"restore offsets/\d+ and offsets/\d+ from a copy of the checkpoint, and what sources/\w+ lacks",
            act=_restore_entries_and_log,
        ),
        Way(name="restore", phrase="restore it from a copy", act=_restore_files),
        Way(name="write anew", phrase="or write it anew: ", act=_rewrite_source_log),
        Way(
            name="restore the entry instead",
            phrase=r"where a copy ends there, too, restore offsets/\d+",
            act=_restore_quoted(r"restore (offsets/\d+)"),
        ),
    ),
    "unreadable-source-log": (RESTORE,),
    "misplaced-source-entries": (
        Way(name="restore", phrase="restore them from a copy", act=_restore_misplaced),
        Way(
            name="write anew",
            phrase="write into each one line of JSON for each of its input files",
            act=_rewrite_misplaced,
        ),
    ),
    "replaced-input": (Way(name="put back", phrase="put the files back as they were", act=_put_input_as_it_was),),
    "lost-input": (Way(name="put back", phrase="put the files back under the same names", act=_put_input_back),),
    "moved-input": (Way(name="put back", phrase="put the files back there", act=_put_input_back),),
    "unloadable-state": (
        Way(
            name="restore the commit",
            phrase=r"restore commits/\d+ from a copy",
            act=_restore_quoted(r"restore (commits/\d+)"),
        ),
        Way(
            name="restore the files, or the commit that names them",
            phrase=r"restore the files from a copy.*or where it has none of these names, commits/\d+",
            act=_restore_state_files_or_commit,
        ),
        Way(
            name="restore",
            phrase="restore the files from a copy(?!.*where it has none of these names).*delete the hidden `.crc`",
            act=_restore_state_files,
        ),
        Way(name="rename", phrase="rename the temporary files"),
        Way(name="go back", phrase="otherwise go back to a version"),
    ),
    "broken-state-file": (
        Way(name="delete the side file", phrase="^delete state/", act=_delete_checksum),
        Way(name="restore", phrase="restore the files from a copy.*delete the hidden `.crc`", act=_restore_state_files),
        Way(name="go back", phrase="otherwise go back to a batch whose state is whole"),
    ),
    "dropped-batch-without-state": (
        Way(name="restore", phrase="restore the files of state from a copy", act=_restore_files),
        Way(name="build anew", phrase="build the state anew from the source"),
    ),
    "source-count-differs": (
        Way(
            name="restore both entries",
            phrase=r"restore offsets/\d+ and offsets/\d+ from a copy",
            act=_restore_quoted(r"restore (offsets/\d+) and (offsets/\d+)"),
        ),
    ),
    "source-offset-lost": (
        Way(name="restore", phrase=r"restore offsets/\d+ from a copy", act=_restore_named),
        Way(
            name="end offset of the progress event",
            phrase="put the end offset in its place that the progress event of batch",
            act=_offsets_of_progress,
        ),
    ),
    "unlike-offsets": (
        RESTORE_BOTH,
        ENDS_OF_BOTH,
        Way(name="declare", phrase="declare the source that the checkpoint was written with"),
    ),
    "backward-range": (RESTORE_BOTH, ENDS_OF_BOTH),
    "changed-delta-table": (RESTORE_BOTH, ENDS_OF_BOTH),
    "impossible-file-offsets": (RESTORE_BOTH, ENDS_OF_BOTH, RESTORE),
    "repeated-source-ids": (RESTORE_BOTH, ENDS_OF_BOTH),
    "changed-partitions": (
        Way(
            name="setting of the entry below",
            phrase=r"put the value of offsets/\d+ in its place",
            act=_conf_of_entry_below,
        ),
    ),
    "foreign-input": (Way(name="restore", phrase=r"restore sources/\w+ from a copy", act=_restore_files),),
    "watermark-ahead": (Way(name="begin anew", phrase="begin the state anew in a new checkpoint"),),
    "future-input": (Way(name="restore", phrase=r"restore sources/\w+ from a copy", act=_restore_files),),
    "emptied-state": (Way(name="restore", phrase="restore what was in it", act=_restore_each("checkpoint/state")),),
    "impossible-kafka-offsets": (RESTORE_BOTH, ENDS_OF_BOTH),
    "impossible-delta-offsets": (RESTORE_BOTH, ENDS_OF_BOTH),
    "offsets-moved-back": (RESTORE_BOTH, ENDS_OF_BOTH),
    "copied-entry": (
        Way(name="restore both entries", phrase="restore both from a copy", act=_restore_with_entry_below),
        Way(name="plan anew", phrase=r"otherwise write offsets/\d+ anew with the end offsets"),
        RESTORE_BOTH,
        ENDS_OF_BOTH,
    ),
    "state-ahead": (
        Way(
            name="restore the newest entries",
            phrase="restore the newest entries of offsets and commits",
            act=_restore_newest_entries,
        ),
    ),
    "changed-state-file": (
        Way(name="restore", phrase="restore the files from a copy.*delete the hidden `.crc`", act=_restore_state_files),
        Way(name="vouch", phrase="where they are known to be right"),
    ),
    "lost-operators": (Way(name="restore", phrase="restore the folders from a copy", act=_restore_operators),),
    "renumbered-source-entries": (
        Way(name="restore", phrase="restore them from a copy", act=_restore_misplaced),
        Way(name="renumber", phrase="put their own number back as batchId", act=_renumber),
    ),
    "repeated-source-entries": (
        Way(name="restore", phrase="restore them from a copy", act=_restore_misplaced),
        Way(name="once", phrase="leave each input file in there once", act=_leave_each_once),
        Way(name="name the other", phrase="path and time of the input file that none of them names"),
    ),
    "unpinned-partitions": (
        Way(
            name="value of the other entry",
            phrase=r"add spark\.sql\.shuffle\.partitions to `conf` in the second line, with the value of offsets/\d+",
            act=_partitions_of_other_entry,
        ),
        Way(name="value of the query", phrase="with the value that the query was started with"),
    ),
    "impossible-confs": (
        Way(
            name="value of the entry below",
            phrase=r"put the value of offsets/\d+ in its place",
            act=_conf_of_entry_below,
        ),
    ),
    "unfit-state-confs": (
        Way(name="setting of the entry below", phrase=r"back as it is in offsets/\d+", act=_conf_of_entry_below),
        Way(name="setting of the state", phrase="as it was when the state was written"),
    ),
    "dropped-batch-without-ids": (
        Way(
            name="restore the commit",
            phrase=r"restore commits/\d+ from a copy",
            act=_restore_quoted(r"restore (commits/\d+)"),
        ),
        Way(name="build anew", phrase="build the state anew from the source"),
    ),
    "watermark-moved-back": (
        Way(
            name="watermark of the entry below",
            phrase=r"put the watermark of offsets/\d+ or a higher one in its place",
            act=_header_value("batchWatermarkMs"),
        ),
    ),
    "offsets-without-source-ids": (
        Way(name="back to v1", phrase="put the first line back to `v1`", act=_first_line_v1),
    ),
    "beyond-delta-table": (
        Way(
            name="offset of the progress event",
            phrase="put the offset back that the progress event of batch",
            act=_offsets_of_progress,
        ),
        NEW_CHECKPOINT,
    ),
    "changed-entry": (Way(name="restore", phrase="compare it with a copy", act=_restore_changed_entries),),
    "edited-offsets": (
        Way(name="restore", phrase=r"compare it with the end offsets .*, or with a copy", act=_restore_named),
    ),
    "planned-backwards": (Way(name="restore", phrase="compare the entry with a copy", act=_restore_named),),
    "sink-ahead": (
        Way(
            name="restore the checkpoint",
            phrase="restore the checkpoint that wrote them from a copy",
            act=_restore_each("checkpoint"),
        ),
        Way(name="new directory", phrase="write to a new output directory|begin in an empty checkpoint folder"),
    ),
    "sink-behind": (Way(name="restore the sink", phrase="then restore it", act=_restore_each("out")),),
    "sink-has-pending-batch": (
        Way(name="restore", phrase=r"restore offsets/\d+, or rebuild it", act=_restore_named),
        Way(name="rebuild", phrase="or rebuild it with the range", act=_rebuild_on_entry_below),
    ),
    "incomplete-sink-log": (
        Way(name="restore", phrase="restore _spark_metadata from a copy", act=_restore_each("out/_spark_metadata")),
    ),
    "missing-sink": (Way(name="look", phrase="see whether the address is right"),),
    "unread-sink": (
        Way(name="restore the commits", phrase="restore the named commits", act=_restore_each("out/_delta_log")),
        Way(name="look", phrase="make it readable from here"),
    ),
    "another-delta-table": (
        Way(name="restore the table", phrase="restore the table that was read", act=_restore_each("in")),
        NEW_CHECKPOINT,
    ),
    "removed-delta-versions": (
        Way(name="restore the commits", phrase="restore those commits from a copy", act=_restore_data_files),
    ),
    "vacuumed-delta-files": (
        Way(name="restore the files", phrase="restore the files from a copy", act=_restore_data_files),
    ),
    "lost-kafka-records": (Way(name="archive", phrase="bring the records from another copy or an archive"),),
    "kafka-topic-reset": (Way(name="new checkpoint", phrase="a new checkpoint that begins at the earliest offset"),),
    "kafka-partitions-gone": (
        Way(name="jump", phrase="see who deleted them; then one start with failOnDataLoss=false"),
    ),
    "unread-kafka": (Way(name="look", phrase="make the broker answer with DESCRIBE on the topic"),),
    "unread-delta-source": (
        Way(name="restore the commits", phrase="restore the named commits", act=_restore_named_commits),
        Way(name="look", phrase="see whether the address is right|make it readable"),
    ),
    "unread-delta-versions": (Way(name="look", phrase="make it readable from here"),),
    "stopping-delta-commit": (Way(name="option", phrase=""),),
    "newer-format": (Way(name="another Spark", phrase="start the query with the Spark that wrote it"),),
    "ignored-confs": (NEW_CHECKPOINT,),
    "async-progress-holes": (Way(name="option", phrase="keep the option on"),),
    "continuous-entries": (Way(name="trigger", phrase="keep the trigger continuous"),),
    "no-checkpoint": (Way(name="look", phrase="see whether the address is right"),),
    "unreachable-source-log": (Way(name="look", phrase="see to permissions and storage"),),
    "forgotten-input": (Way(name="times of the log", phrase="set their times back", act=_times_of_the_log),),
    "renamed-input": (
        Way(name="names", phrase="give the files their old names back"),
        Way(name="restore", phrase=r"restore sources/\w+ from a copy", act=_restore_files),
    ),
    "unchecked-state-file": (Way(name="compare", phrase="compare the files"),),
    "overwritten-input": (Way(name="new names", phrase="write the new content under new names"),),
    "aged-input": (Way(name="new names", phrase="copy them under new names"),),
    "unseen-input": (Way(name="look", phrase="see whether the address is right"),),
}


def ways_of(finding: Finding) -> list[Way]:
    """The ways that the text of this finding offers; none where nothing in it is understood."""
    return [way for way in WAYS.get(finding["rule"], ()) if re.search(way.phrase, finding["repair"])]
