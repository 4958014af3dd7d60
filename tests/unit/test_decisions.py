"""Decision records (ADRs) have a number, a status and a date."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

ADR = Path(__file__).parents[2] / "adr"
DECISIONS = sorted(ADR.glob("[0-9]*.md"))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_has_number_status_and_date(path: Path) -> None:
    title, _, status, day, *rest = path.read_text(encoding="utf-8").splitlines()
    assert re.match(rf"# {int(path.name[:4])}\. \S", title)
    assert status.startswith(("Status: accepted", "Status: superseded by [", "Status: proposed"))
    assert date.fromisoformat(day.removeprefix("Date: "))
    assert "## Context" in rest
    for linked in re.findall(r"\]\((\d[^)]*)\)", status):
        assert (ADR / linked).is_file()


def test_numbers_of_decisions_are_unique() -> None:
    numbers = [path.name[:4] for path in DECISIONS]
    assert len(set(numbers)) == len(numbers) > 0
