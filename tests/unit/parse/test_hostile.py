"""Tests with texts that are made to be slow (HARDENING 5, 62). They measure CPU time, so that you can run
them on a busy machine."""

import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kg_api.schemas.documents import Format, ParsedDocument, SourceSpan
from kg_api.text.cutting import count_words
from kg_api.text.documents import parse
from kg_api.text.lines import is_blank
from kg_api.text.sources import SplitLimits, split
from tests.support.growth import assert_linear

FULL = 10_000_000
SECONDS_PER_MB = 60
"""Limit for the full size. It is several times as high as the measured time. If the time were quadratic,
it would take hours."""
FORMATS: tuple[Format, ...] = ("text", "markdown", "rst")


UNITS = {
    "one line of words": "word ",
    "one word": "x",
    "blank lines": "\n",
    "spaces": " ",
    "zero-width": "\u200b",
    "marks": "\u0301",
    "Chinese without an end": "你好",
    "Chinese sentences": "你好。",
    "emoji": "\U0001f469\u200d\U0001f469",
    "open quotes": "“a. ",
    "headings": "# h\n",
    "underlined headings": "h\n====\n\n",
    "headings without a blank line": "a\n=\n",
    "list items": "- a\n",
    "items with paragraphs": "- a\n\n  b\n\n",
    "items in items": "- ",
    "numbers": "1. ",
    "quotations": "> ",
    "lazy quotations": "> - a\nb\n",
    "table rows": "|a|b|\n",
    "table borders": "=  =\na\n",
    "tables": "a|b\n-|-\n",
    "cells in one row": "a|",
    "fences": "```\n",
    "tags": "<a\n",
    "comments": ".. a\n\n",
    "literals": "a::\n\n  b\n\n",
    "fields": ":a: b\n",
    "stars": "*a ",
    "backticks": "`a ",
    "brackets": "[",
    "carriage returns": "a\r",
}
NESTED = {"nested items": "- a\n", "nested paragraphs": "a\n\n", "nested notes": ".. note::\n\n"}
AT_FULL_SIZE = [
    "one line of words", "one word", "zero-width", "blank lines", "headings", "list items",
    "items in items",
]  # fmt: skip


def hostile(name: str, size: int) -> str:
    if name in UNITS:
        return UNITS[name] * (size // len(UNITS[name]))
    depth = int((2 * size) ** 0.5)
    return "".join(f"{' ' * level}{NESTED[name]}" for level in range(depth))


def seconds(text: str, format_: Format) -> float:
    start = time.process_time()
    spans = split(parse(text, "name", format_))
    taken = time.process_time() - start
    assert not spans or "".join(text[span.start : span.end] for span in spans) == text
    return taken


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", [*UNITS, *NESTED])
@pytest.mark.parametrize(
    ("size", "slack"),
    [(5_000, 0.025), pytest.param(10_000, 0.1, marks=pytest.mark.full)],
    ids=["usual", "full"],
)
def test_time_grows_with_the_text(size: int, slack: float, name: str, format_: Format) -> None:
    assert_linear(lambda length: seconds(hostile(name, length), format_), size, slack)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", AT_FULL_SIZE)
def test_ten_megabytes_are_handled_in_bounded_time(name: str, format_: Format) -> None:
    assert seconds(hostile(name, FULL), format_) <= SECONDS_PER_MB * FULL / 1e6


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("format_", "line"), [("markdown", "# Heading {}\n"), ("rst", "Heading {}\n===========\n\n")]
)
def test_a_million_headings_are_handled_in_bounded_time(format_: Format, line: str) -> None:
    text = "".join(map(line.format, range(1_000_000)))
    assert seconds(text, format_) <= SECONDS_PER_MB * len(text) / 1e6


DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
LIMITS = SplitLimits()
LONGEST = LIMITS.split_above + LIMITS.split_code_above


def folder(name: str) -> Path:
    path = DATA / name
    if not path.is_dir():
        pytest.skip(f"the data set {name} is not there: {path} does not exist")
    return path


def checked(documents: Iterable[ParsedDocument]) -> Iterator[tuple[ParsedDocument, SourceSpan]]:
    """Return the sources from each document after the invariants have been checked."""
    for document in documents:
        spans = split(document)
        assert "".join(document.text[span.start : span.end] for span in spans) == document.text
        assert all(former.end == span.start for former, span in pairwise(spans))
        for span in spans:
            assert not is_blank(document.text, span.start, span.end)
            assert count_words(document.text, span.start, span.end) <= LONGEST
            yield document, span


def sizes(found: Iterable[tuple[ParsedDocument, SourceSpan]]) -> list[int]:
    return sorted(count_words(document.text, span.start, span.end) for document, span in found)


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.full)])
def test_the_python_enhancement_proposals(step: int) -> None:
    paths = sorted(folder("python_peps").glob("rst/*.rst"))[::step]
    documents = [parse(path.read_text(encoding="utf-8"), path.name) for path in paths]
    assert len(documents) > 600 // step
    assert not [document.title for document in documents if document.title.startswith("pep-")]
    found = list(checked(documents))
    size = sizes(found)
    assert 60 <= size[len(size) // 2] <= 150
    assert size[len(size) * 99 // 100] <= LIMITS.split_above
    assert sum(1 for _, span in found if span.heading) / len(found) > 0.9
