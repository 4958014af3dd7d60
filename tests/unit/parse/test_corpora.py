from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kg_api.schemas.documents import ParsedDocument, SourceSpan
from kg_api.text.cutting import words
from kg_api.text.documents import parse
from kg_api.text.lines import is_blank
from kg_api.text.sources import SplitLimits, split

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
            assert words(document.text, span.start, span.end) <= LONGEST
            yield document, span


def sizes(found: Iterable[tuple[ParsedDocument, SourceSpan]]) -> list[int]:
    return sorted(words(document.text, span.start, span.end) for document, span in found)


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


@pytest.mark.parametrize("language", ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"])
@pytest.mark.parametrize("name", ["all.txt", "all.md"])
def test_paragraphs_in_twelve_languages(language: str, name: str) -> None:
    lines = (folder("xquad") / language / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    text = "\n\n".join(json.loads(line)["text"] for line in lines)
    size = sizes(checked([parse(text, name)]))
    assert len(size) >= 200
    assert size[-1] <= LIMITS.split_above
    assert 80 <= size[len(size) // 2] <= 200
