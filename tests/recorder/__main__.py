"""Makes the recordings of tests/data/checkpoints anew: `make record-checkpoints`."""

import argparse
import shutil
import sys
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from recorder.catalogue import PINNED, VERSIONS, Recipe, recipes_of
from recorder.environments import PROJECT
from recorder.hygiene import machine_names, problems
from recorder.recording import Place, record, upgrade
from recorder.scripts.inputs import PARTITIONS
from support.provoke.broker import Broker
from support.recording_archives import ARCHIVES, pack, unpack_all

BASE = Path("/tmp/streamops-recording")
"""File sources record where their input lies: a place that tells nothing of the machine."""
TARGET = BASE / "recorded"
"""All recordings, unpacked: what is not made anew stays as it is."""


def main(argv: list[str] | None = None) -> int:
    """Record; 1 where a recording is not fit to be kept."""
    parser = argparse.ArgumentParser(prog="recorder", description="Record the checkpoints of tests/data/checkpoints.")
    parser.add_argument("versions", nargs="*", default=list(VERSIONS), metavar="VERSION", help=", ".join(VERSIONS))
    parser.add_argument("--only", default="", help="part of the names of the recordings to make anew; the rest stays")
    parser.add_argument("--keep", action="store_true", help=f"leave {BASE} behind, to look into it")
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.versions) - set(VERSIONS):
        parser.error(f"no recipes for {', '.join(sorted(unknown))}, there are some for {', '.join(VERSIONS)}")
    chosen = {
        version: [recipe for recipe in recipes_of(version) if arguments.only in recipe.name]
        for version in arguments.versions
    }
    if not any(chosen.values()):
        parser.error(f"no recording has {arguments.only!r} in its name")
    try:
        # Made here or nowhere: two recorders would get into each other's way, and a stranger's folder is not ours to use.
        BASE.mkdir()
    except FileExistsError:
        print(f"{BASE} is there already: another recording runs, or one was cut off; remove it then", file=sys.stderr)
        return 1
    try:
        unpack_all(TARGET)
        failed = [text for version, recipes in chosen.items() if (text := _record_version(version, recipes))]
        unfit = list(problems(TARGET, names=machine_names()))
        if not unfit:
            for version in chosen:
                pack(TARGET, version)
    finally:
        if not arguments.keep:
            shutil.rmtree(BASE, ignore_errors=True)
    found = [*failed, *unfit]
    print("\n".join(found) or f"recorded in {ARCHIVES.relative_to(PROJECT)}", file=sys.stderr)
    return 1 if found else 0


def _record_version(version: str, recipes: list[Recipe]) -> str:
    """What failed; empty where all went well. The other versions are recorded all the same."""
    topics = [recipe.name for recipe in recipes if recipe.source == "kafka"]
    broker = Broker(BASE / "broker")
    try:
        bootstrap = broker.bootstrap() if topics else ""
        _create(topics, bootstrap)
        place = Place(base=BASE, target=TARGET, version=version, has_jars=version == PINNED, bootstrap=bootstrap)
        record(place, recipes)
        upgrade(place, recipes)
    except (RuntimeError, TimeoutError) as error:
        return str(error)
    finally:
        broker.stop()
    return ""


def _create(topics: list[str], bootstrap: str) -> None:
    if not topics:
        return
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for topic in topics:
        new = NewTopic(topic, num_partitions=PARTITIONS, replication_factor=1)
        admin.create_topics([new])[topic].result(timeout=30)


if __name__ == "__main__":
    sys.exit(main())
