"""Real documents, from the folder of data beside the project: twelve languages and five kinds of text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kg_api.schemas.embedding import SIZES, Chunking
from tests.unit.chunk.shapes import EVERY, chunked, name_of, sources

USUAL = [Chunking(strategy=strategy) for strategy in SIZES]
DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


def there(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"the data set is not there: {path} does not exist")
    return path


LANGUAGES = ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
PAIRS = [
    pytest.param(
        language,
        chunking,
        id=f"{language}-{name_of(chunking)}",
        marks=() if (row + column) % 3 == 0 else pytest.mark.full,
    )
    for row, language in enumerate(LANGUAGES)
    for column, chunking in enumerate(USUAL)
]
"""The usual run has each language with a third of the strategies, and each strategy with a third of them."""


@pytest.mark.parametrize(("language", "chunking"), PAIRS)
def test_twelve_languages(language: str, chunking: Chunking) -> None:
    lines = there(DATA / "xquad" / language / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    text = "\n\n".join(json.loads(line)["text"] for line in lines)
    assert len(chunked(text, sources(text, "all.txt"), chunking)) >= 50


@pytest.mark.parametrize("chunking", EVERY, ids=name_of)
@pytest.mark.parametrize("name", ["chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts"])
@pytest.mark.parametrize("size", [50_000, pytest.param(None, id="full", marks=pytest.mark.full)])
def test_five_corpora(size: int | None, name: str, chunking: Chunking) -> None:
    text = there(DATA / "chroma_chunking" / "corpora" / f"{name}.md").read_text(encoding="utf-8")[:size]
    assert len(chunked(text, sources(text, f"{name}.md"), chunking)) >= 15
