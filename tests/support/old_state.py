"""What version 60b607b left on disk and in Airflow's database, recorded by running it (`tests/data/state_roots/60b607b.json`).

Its supervisor ran a stream in memory: six drivers, a death, a restart, two stops, a start and a catch-up between them; rounds of
health over two more streams, one of them damaged and mended; a replay of dead letters; the plan of a backfill. `files` holds each
file by its address, `told` what that version itself read of them, `rows` the triggers as they stand in Airflow's database.
"""

import json
from datetime import datetime
from pathlib import Path

from streamops.storage import Storage
from streamops.storage.memory import MemoryStorage
from support.clock import START
from support.state_root import init

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "state_roots" / "60b607b.json").read_text())
TOLD, ROWS = RECORDED["told"], RECORDED["rows"]
STATE_ROOT = "file:///data/state"
SINCE_START = datetime.fromisoformat(TOLD["orders"]["now"]) - START
"""How long after the start of a fake clock the stream was stopped."""


def old_state() -> Storage:
    """All files of that version, and the mark that `streamops init` of this one leaves beside them."""
    storage = MemoryStorage()
    for address, content in RECORDED["files"].items():
        storage.write(address, content.encode())
    init(storage, STATE_ROOT)
    return storage
