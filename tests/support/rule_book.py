"""`docs/findings.md`, written from the catalogue: `PYTHONPATH=plugins:tests python -m support.rule_book` writes it anew."""

from pathlib import Path

from streamops.diagnosis.judge import explanations
from streamops.retention.checkup_with_kafka import EXPLANATIONS

BOOK = Path(__file__).parents[2] / "docs" / "findings.md"
HEAD = """# Findings

Each rule of the catalogue (`plugins/streamops/diagnosis/judge.py`), in the order in which a start comes across what it
is about. A finding says what was seen, what it means, how to repair it and when not to; `at_start` in `check --json` says what
the next start makes of it: `fails`, `loses`, `repeats`, `undecided` (a person decides), `unread` (another look may tell). The
plan for a start, `check`, the forms, the supervisor's next step and the health DAG are read from the same findings.

Codes in brackets name the damage as it was tried on real Spark (`tests/support/damage_matrix.py`); a number such as SPARK-18187
is the report that the rule comes from.

| rule | about |
|---|---|
"""


def book() -> str:
    """The text of the page."""
    known = explanations() | EXPLANATIONS
    rows = (f"| `{name}` | {about.replace('|', '&#124;')} |\n" for name, about in known.items())
    return HEAD + "".join(rows)


if __name__ == "__main__":
    BOOK.write_text(book())
