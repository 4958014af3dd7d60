from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.text.borders import ChunkSpan
from kg_api.text.chunking import fit_chunks
from tests.unit.chunk.shapes import assert_whole

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


def test_fitting_chunks_are_unchanged() -> None:
    whole = [ChunkSpan(0, 12), ChunkSpan(13, 20)]
    assert fit_chunks("x" * 20, whole, spans_of, lambda _: "") == whole


def test_pieces_keep_their_parent() -> None:
    found = fit_chunks("x" * 20, [ChunkSpan(0, 20, (0, 20))], spans_of, lambda _: "")
    assert found == [ChunkSpan(0, 12, (0, 20)), ChunkSpan(12, 20, (0, 20))]


def test_chunk_limit_includes_the_context() -> None:
    seen: list[str] = []

    def noting(text: str, before: str) -> list[tuple[int, int]]:
        seen.append(before)
        return spans_of(text, before)

    found = fit_chunks("x" * 9, [ChunkSpan(0, 9)], noting, lambda _: "four")
    assert [(span.start, span.end) for span in found] == [(0, 6), (6, 9)]
    assert set(seen) == {"four\n\n"}


def test_chunk_with_longer_context_is_cut_again() -> None:
    """The first piece begins with its heading, the others need it in front."""
    found = fit_chunks(
        "h" + "x" * 23, [ChunkSpan(0, 24)], spans_of, lambda span: "" if span.start == 0 else "head"
    )
    assert [(span.start, span.end) for span in found] == [(0, 12), (12, 18), (18, 24)]
