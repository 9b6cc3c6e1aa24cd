"""Starts queries of a real Kafka in a Spark of their own, and what became of each."""

import json
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
CONFS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
}


def start(root: Path, queries: list[dict]) -> list[dict]:
    """One after the other, see `tests/kafka/start_queries.py`: the error of each, and what its sink has."""
    plan, answers = root / "plan.json", root / "answers.json"
    jars = ",".join(str(jar) for jar in sorted((PROJECT / ".jars" / "spark").glob("*.jar")))
    plan.write_text(json.dumps({"confs": {**CONFS, "spark.jars": jars}, "queries": queries}))
    script = [sys.executable, str(PROJECT / "tests" / "kafka" / "start_queries.py"), str(plan), str(answers)]
    ended = subprocess.run(script, capture_output=True, text=True, timeout=280, cwd=root, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(answers.read_text())
