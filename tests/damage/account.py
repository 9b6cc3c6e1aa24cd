"""The figures of a run, and every miss in full."""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from damage.compare import Result

Record = dict[str, Any]
MOST_ALARMS = 0.01
COLUMNS = (*(str(result) for result in Result), "harness")
QUIET = frozenset({str(Result.AGREE), str(Result.UNDECIDED), str(Result.UNKNOWABLE)})


def figures(records: list[Record], bases: dict[str, float]) -> dict[str, Any]:
    """All that `.sandbox/damage.json` holds."""
    totals = Counter(record["result"] for record in records)
    repairs = [repair for record in records for repair in record.get("repairs", ())]
    outcomes = Counter(repair["result"] for repair in repairs)
    cases, seconds = len(records), sum(record["seconds"] for record in records)
    return {
        "cases": cases,
        **{name: totals[name] for name in COLUMNS},
        "wrong_repair": outcomes["wrong_repair"],
        "repairs": dict(outcomes),
        "wrong_alarm_share": round(totals["wrong_alarm"] / cases, 4) if cases else 0,
        "seconds": round(seconds, 1),
        "seconds_of_bases": bases,
        "seconds_a_case": round((seconds - sum(bases.values())) / cases, 2) if cases else 0,
        "by_kind": _table(records, lambda record: [record["kind"]]),
        "by_act": _table(records, lambda record: record.get("act_kinds") or ["none"]),
        "by_variant": _table(records, lambda record: [record.get("variant", "")]),
        "by_version": _table(records, lambda record: [record["spark"]]),
        "by_rule_repaired": _repairs_by_rule(repairs),
        "misses": [record for record in records if record["result"] not in QUIET or _has_bad_repair(record)],
        "undecided_cases": [
            {key: record[key] for key in ("case", "kind", "spark", "acts", "why")}
            for record in records
            if record["result"] == Result.UNDECIDED
        ],
    }


def passes(found: dict[str, Any]) -> bool:
    """What a run must keep to."""
    return not found["wrong_safe"] and not found["wrong_repair"] and found["wrong_alarm_share"] <= MOST_ALARMS


def keep(found: dict[str, Any], target: Path) -> None:
    """Written whole, at the end and on the way."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(found, indent=2, default=str) + "\n")


def show(found: dict[str, Any], console: Console) -> None:
    """The short account, and one line for each miss."""
    table = Table(title="Random damage against Spark", title_justify="left")
    table.add_column("kind")
    for name in COLUMNS:
        table.add_column(name.replace("_", " "), justify="right")
    for kind, counts in found["by_kind"].items():
        table.add_row(kind, *(str(counts.get(name, 0) or "·") for name in COLUMNS))
    table.add_section()
    for version, counts in found["by_version"].items():
        table.add_row(f"Spark {version}", *(str(counts.get(name, 0) or "·") for name in COLUMNS))
    table.add_row("all", *(str(found[name]) for name in COLUMNS))
    console.print(table)
    console.print(
        f"repairs: {found['repairs'] or 'none'}; {found['cases']} cases in {found['seconds']} s, {found['seconds_a_case']} s each"
        f" and {sum(found['seconds_of_bases'].values()):.0f} s for {len(found['seconds_of_bases'])} new bases",
        highlight=False,
    )
    for miss in found["misses"]:
        told = f"{miss['result']}: {miss.get('why', '')} — {'; '.join(miss.get('acts', ()))}"
        line = f"--spark {miss['spark']} --replay {miss['case']} {told}"
        console.print(line[:400], highlight=False, markup=False, soft_wrap=True)
        for repair in miss.get("repairs", ()):
            if repair["result"] in BAD_REPAIRS:
                told = f"    repair {' → '.join(repair['ways'])}: {repair['result']}: {repair['why']}"
                console.print(told[:400], highlight=False, markup=False, soft_wrap=True)


def in_a_line(record: Record) -> str:
    """What was done in a case, and what came of it."""
    repairs = Counter(repair["result"] for repair in record.get("repairs", ()))
    told = f"; repairs {dict(repairs)}" if repairs else ""
    acts = "; ".join(record.get("acts", ())) or "nothing"
    return f"{record['case']} {record['result']}: {record.get('why', '')} — {acts}{told} ({record['seconds']} s)"


BAD_REPAIRS = frozenset({"wrong_repair", "repair_not_understood"})


def _has_bad_repair(record: Record) -> bool:
    return any(repair["result"] in BAD_REPAIRS for repair in record.get("repairs", ()))


def _table(records: list[Record], keys: Any) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        for key in keys(record):
            counts[key][record["result"]] += 1
    return {key: dict(counts[key]) for key in sorted(counts)}


def _repairs_by_rule(repairs: list[Record]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for repair in repairs:
        for way in repair["ways"]:
            counts[way][repair["result"]] += 1
    return {way: dict(counts[way]) for way in sorted(counts)}
