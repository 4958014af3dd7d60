import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import ConfigurationError
from kg_api.schemas.embedding import SIZES, Chunking
from kg_api.text import sentence_vectors
from kg_api.text.sentence_vectors import open_sentence_vectors
from tests.unit.chunk.shapes import EVERY, chunked, name_of, sources

PIECES = st.sampled_from(
    [
        "one two three. ", "A sentence, with a clause; and more! ", "word " * 40, "\n", "\n\n",
        "# Head\n\n", " ", "- item\n", "x" * 130, "https://example.org/" + "a/" * 90, "漢字です。",
        "很长的句子，没有空格" * 12, "ภาษาไทยไม่มีช่องว่าง" * 9, "مرحبا بالعالم؟ ", "\u202eשלום עולם\u202c ",
        "हिन्दी में लिखा है। ", "e\u0301\u0323" * 30, "z" + "\u0300" * 90, "👩‍👩‍👧‍👦" * 15, "👍🏽 ",
        "🇩🇪🇫🇷" * 20, "❤\ufe0f", "\r", "\r\n", "\u00a0", "\u2028", "\u200b", "\ufeff", "\u00ad", "각" * 40,
        "\u1112\u1161\u11ab" * 30, "。\u0301", "   ", "\t", "\x85", "A.B.C. Dr. No? ",
        "| a | b |\n|---|---|\n", "```\ncode()\n```\n",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(PIECES, max_size=30).map("".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=300),
)
NAMES = st.sampled_from(["a.txt", "a.md", "a.rst"])


@pytest.mark.parametrize("chunking", EVERY, ids=name_of)
@given(text=TEXTS, name=NAMES)
def test_chunks_of_any_text(chunking: Chunking, text: str, name: str) -> None:
    chunked(text, sources(text, name), chunking)


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


def test_near_meanings_are_near() -> None:
    vectors = open_sentence_vectors()(["The cat sleeps.", "A kitten is napping.", "Interest rates rose."])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_the_package_is_not_imported() -> None:
    program = (
        "import sys; from kg_api.text.sentence_vectors import open_sentence_vectors; open_sentence_vectors();"
        "sys.exit('wordllama' in sys.modules or 'requests' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "PACKAGE", "no_such_package_here")
    with pytest.raises(ConfigurationError, match="no_such_package_here"):
        open_sentence_vectors()


def test_another_vector_file_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "_TOKENIZER", (sentence_vectors._TOKENIZER[0], "0" * 64))
    with pytest.raises(ConfigurationError, match="is not the expected file"):
        open_sentence_vectors()
