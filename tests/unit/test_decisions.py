"""The format of decision records (ADRs): number, title, status, date, sections, and length."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

ADR = Path(__file__).parents[2] / "adr"
DECISIONS = sorted(ADR.glob("[0-9]*.md"))
SECTIONS = ["## Context", "## Decision", "## Consequences", "## Alternatives"]
MAX_WORDS = 600
MAX_TITLE_WORDS = 10


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_decision_has_its_form_on_one_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.split()) <= MAX_WORDS
    title, _, status, day, *rest = text.splitlines()
    assert re.match(rf"# {int(path.name[:4])}\. \S", title)
    assert len(title.split()) - 2 <= MAX_TITLE_WORDS
    assert status.startswith(("Status: accepted", "Status: superseded by [", "Status: proposed"))
    assert date.fromisoformat(day.removeprefix("Date: "))
    assert [line for line in rest if line.startswith("#")] == SECTIONS


@pytest.mark.parametrize("path", [*DECISIONS, ADR / "README.md"], ids=lambda path: path.name)
def test_links_between_decisions_have_files(path: Path) -> None:
    for linked in re.findall(r"\]\(([^):#]+\.md)\)", path.read_text(encoding="utf-8")):
        assert (ADR / linked).is_file(), linked


def test_index_lists_every_decision() -> None:
    listed = re.findall(
        r"^- \[(\d+\. .+)\]\((\d.+)\)$", (ADR / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in DECISIONS]
    assert listed == [(title, path.name) for title, path in zip(titles, DECISIONS, strict=True)]


def test_decision_numbers_are_unique() -> None:
    numbers = [path.name[:4] for path in DECISIONS]
    assert len(set(numbers)) == len(numbers) > 0
