from itertools import groupby, pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.client import Graph
from kg_api.graph.vectors import SourceText
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.embedding import Chunking
from kg_api.spaces.chunk_plans import Planner, SourceGroup, get_context_size
from kg_api.text.borders import ChunkSpan, Paragraph
from kg_api.text.chunking import fit_chunks, split_to_chunks
from kg_api.text.contexts import add_context
from kg_api.text.windows import Room, find_windows
from tests.unit.chunk.shapes import EVERY, assert_whole, document, hashed, name_of

MOST = 60
MODEL = DeterministicEmbedder(max_tokens=MOST)
ROOM = get_context_size(MODEL)


def numbered(count: int, words: int = 10, heading: str = "h", first: int = 0) -> list[tuple[str, str]]:
    return [(heading, " ".join(f"p{n}w{w}" for w in range(words))) for n in range(first, first + count)]


def by_paragraph(text: str, paragraphs: list[Paragraph]) -> list[ChunkSpan]:
    return [
        ChunkSpan(each.start, each.start + len(text[each.start : each.end].rstrip())) for each in paragraphs
    ]


def of(paragraphs: list[tuple[str, str]], room: Room = ROOM) -> list[str]:
    text, found = document(paragraphs)
    spans = find_windows(text, by_paragraph(text, found), found, room)
    return [text[slice(*span)] for span, _ in groupby(spans)]


TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two"]),
        st.text("abc .\n漢\u200b", max_size=90).map(lambda said: f"x {said} y."),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("chunking", EVERY, ids=name_of)
@given(given_paragraphs=TEXTS)
def test_every_chunk_is_in_exactly_one_window(
    chunking: Chunking, given_paragraphs: list[tuple[str, str]]
) -> None:
    text, paragraphs = document(given_paragraphs)
    spans = fit_chunks(text, split_to_chunks(text, paragraphs, chunking, hashed), MODEL.spans, lambda _: "")
    found = find_windows(text, spans, paragraphs, ROOM)
    assert len(found) == len(spans)
    for span, (start, end) in zip(spans, found, strict=True):
        assert start <= span.start < span.end <= end
        assert len(MODEL.spans(text[start:end])) == 1, "nothing is ever cut off"
    distinct = [window for window, _ in groupby(found)]
    assert len(distinct) == len(set(distinct)), "the chunks of a window follow each other"
    assert [start for start, _ in distinct] == sorted(start for start, _ in distinct)
    for (_, end), (start, _) in pairwise(distinct):
        assert chunking.overlap or end <= start
    assert found == find_windows(text, spans, paragraphs, ROOM), "the same text gives the same windows"


@pytest.mark.parametrize("at", [0, 50, 99])
def test_edit_moves_only_nearby_windows(at: int) -> None:
    before = numbered(100)
    after = [*before[:at], ("h", "something quite new"), *before[at + 1 :]]
    new = set(of(after)) - set(of(before))
    assert 1 <= len(new) <= 4, f"{len(new)} of {len(of(before))} windows are new"


def test_texts_that_have_more_tokens_together_still_fit() -> None:
    """A tokenizer that sees another text where two meet."""

    def fits(text: str) -> bool:
        return len(text) + 5 * text.count("\n\n") <= 40

    room = Room(tokens=len, most=40, fits=fits)
    found = of([("h", "a" * 9)] * 9, room)
    assert all(map(fits, found))
    assert "".join(found).count("a") == 81


LIMIT = 12


def spans_of(text: str, before: str) -> list[tuple[int, int]]:
    room = max(1, LIMIT - len(before))
    return [(at, min(at + room, len(text))) for at in range(0, len(text), room)]


@given(st.text("ab \n\u200b", max_size=60))
def test_too_long_chunks_are_cut_without_loss(text: str) -> None:
    stripped = text.strip()
    start = text.find(stripped)
    whole = [ChunkSpan(start, start + len(stripped))] if stripped.strip("\u200b \n") else []
    found = fit_chunks(text, whole, spans_of, lambda _: "")
    if whole:
        assert_whole(text, found)
    assert all(span.end - span.start <= LIMIT for span in found)


def test_planned_chunk_fits_the_model_with_its_context() -> None:
    planner = Planner(cast("Graph", None), Chunking(strategy="paragraph", chunk_size=250), MODEL, None)
    source = SourceText("s", "d", 0, (), 0, "word " * 230, "hash")
    found = planner.plan_passages(
        [SourceGroup([source])], lambda given: ["a few words of context"] * len(given)
    )
    assert len(MODEL.embed_passages([add_context(each.before, each.text) for each in found])) > 1


def test_chunk_with_longer_context_is_cut_again() -> None:
    """The first piece begins with its heading, the others need it in front."""
    found = fit_chunks(
        "h" + "x" * 23, [ChunkSpan(0, 24)], spans_of, lambda span: "" if span.start == 0 else "head"
    )
    assert [(span.start, span.end) for span in found] == [(0, 12), (12, 18), (18, 24)]
