from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.embedding import Chunking
from kg_api.text.borders import Paragraph
from kg_api.text.chunking import chunk
from tests.unit.chunk.shapes import EVERY, chunked, hashed, name_of, sources

PIECES = st.sampled_from(
    [
        *(
            "one two three. ",
            "A sentence, with a clause; and more! ",
            "word " * 40,
            "\n",
            "\n\n",
            "# Head\n\n",
            " ",
        ),
        *(
            "- item\n",
            "x" * 130,
            "https://example.org/" + "a/" * 90,
            "漢字です。",
            "很长的句子，没有空格" * 12,
            "ภาษาไทยไม่มีช่องว่าง" * 9,
        ),
        *(
            "مرحبا بالعالم؟ ",
            "\u202eשלום עולם\u202c ",
            "हिन्दी में लिखा है। ",
            "e\u0301\u0323" * 30,
            "z" + "\u0300" * 90,
        ),
        *(
            "👩‍👩‍👧‍👦" * 15,
            "👍🏽 ",
            "🇩🇪🇫🇷" * 20,
            "❤\ufe0f",
            "\r",
            "\r\n",
            "\u00a0",
            "\u2028",
            "\u200b",
            "\ufeff",
            "\u00ad",
            "각" * 40,
        ),
        *(
            "\u1112\u1161\u11ab" * 30,
            "。\u0301",
            "   ",
            "\t",
            "\x85",
            "A.B.C. Dr. No? ",
            "| a | b |\n|---|---|\n",
            "```\ncode()\n```\n",
        ),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=30).map("".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=300),
)
NAMES = st.sampled_from(["a.txt", "a.md", "a.rst"])


@pytest.mark.parametrize("chunking", EVERY, ids=name_of)
@given(text=TEXTS, name=NAMES)
def test_chunks_of_any_text(chunking: Chunking, text: str, name: str) -> None:
    chunked(text, sources(text, name), chunking)


@pytest.mark.parametrize("chunking", EVERY, ids=name_of)
@given(text=TEXTS)
def test_chunks_of_a_text_in_one_paragraph(chunking: Chunking, text: str) -> None:
    chunked(text, [Paragraph(0, len(text))], chunking)


@pytest.mark.parametrize("chunking", EVERY, ids=name_of)
@given(text=TEXTS)
def test_the_same_chunks_every_time(chunking: Chunking, text: str) -> None:
    paragraphs = sources(text, "a.md")
    assert chunk(text, paragraphs, chunking, hashed) == chunk(text, paragraphs, chunking, hashed)
