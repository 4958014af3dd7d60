"""Decisions (ADRs) are settled: superseded by a later one, never edited."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from pathlib import Path

import pytest

ADR = Path(__file__).parents[2] / "adr"
DECISIONS = sorted(ADR.glob("[0-9]*.md"))
SETTLED = {name: digest for digest, name in map(str.split, (ADR / "settled.sha256").read_text().splitlines())}
"""By file, the hash of what was decided; its status may change, for a later decision may supersede it."""


def hash_decision(text: str) -> str:
    decided = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("Status:"))
    return hashlib.sha256(decided.encode()).hexdigest()


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_settled_decision_is_not_edited(path: Path) -> None:
    found = hash_decision(path.read_text(encoding="utf-8"))
    assert SETTLED.get(path.name) == found, (
        "write a new decision and name it in the status of this one; "
        f"the line of a new one in adr/settled.sha256 is:\n{found}  {path.name}"
    )


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_has_number_status_and_date(path: Path) -> None:
    title, _, status, day, *rest = path.read_text(encoding="utf-8").splitlines()
    assert re.match(rf"# {int(path.name[:4])}\. \S", title)
    assert status.startswith(("Status: accepted", "Status: superseded by [", "Status: proposed"))
    assert date.fromisoformat(day.removeprefix("Date: "))
    assert "## Context" in rest
    for linked in re.findall(r"\]\((\d[^)]*)\)", status):
        assert (ADR / linked).is_file()


def test_none_has_gone() -> None:
    assert SETTLED.keys() == {path.name for path in DECISIONS}
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))
