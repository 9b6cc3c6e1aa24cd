"""The pages: short where they promise to be, and every link leads somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from streamops.cli.main import app
from support.shell_sessions import PAGES, ROOT, arguments, commands

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_every_page_is_reached_from_the_readme() -> None:
    linked = {Path(link.partition("#")[0]).name for link in LINK.findall((ROOT / "README.md").read_text())}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - linked == set()


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())))
def test_every_command_that_a_page_names_is_one(page: str, command: str) -> None:
    """With its options, those in brackets too: a value may stand for any, and an argument may be left out."""
    _, *rest = arguments(command.replace("[", "").replace("]", ""))
    found: Any = typer.main.get_command(app)
    context = found.context_class(found)
    while isinstance(found, TyperGroup) and rest:
        _, found, rest = found.resolve_command(context, rest)
        assert found is not None, f"there is no such command: {command}"
        context = found.context_class(found, parent=context)
    _, left, _ = found.make_parser(context).parse_args(rest)
    assert left == []
