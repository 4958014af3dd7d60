from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.documents import Format, ParsedDocument
from kg_api.text.cutting import words
from kg_api.text.documents import parse
from kg_api.text.lines import is_blank
from kg_api.text.sources import SplitLimits, blocks_of, split

FORMATS = st.sampled_from(["text", "markdown", "rst"])
SMALL = SplitLimits(join_below=8, enough=20, most=45, split_above=50, split_code_above=80)
LONGEST = SMALL.split_above + SMALL.split_code_above + SMALL.split_above
"""Headings, then a block, then the headings that end the document."""

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=400)
MARKED_LINES = st.sampled_from(
    [
        *(
            "",
            "",
            "some plain words.",
            "One. Two! Three?",
            "word " * 60,
            "x" * 700,
            "漢字。" * 40,
            "\u200b" * 30,
        ),
        *(
            "# Heading",
            "## Second *level*",
            "Title",
            "=====",
            "-----",
            "~~~~",
            "- item",
            "  - inner",
            "1. first",
        ),
        *(
            "    indented",
            "```",
            "| a | b |",
            "|---|---|",
            "> quoted",
            "::",
            ".. note:: a",
            "..",
            "text::",
            ":f: v",
        ),
        *("---", "title: x", "\tx\r", "\u2028", "PEP: 1", "Title: y", "=== ===", "+---+", "<div>"),
    ]
)
MARKED_TEXT = st.lists(MARKED_LINES, max_size=40).map("\n".join)
TEXTS = st.one_of(ANY_TEXT, MARKED_TEXT)


def visible_words(text: str) -> int:
    return words("".join(c for c in text if c.isspace() or not is_blank(c)))


@given(text=TEXTS, format_=FORMATS)
def test_sources_join_to_the_text(text: str, format_: Format) -> None:
    document = parse(text, "name", format_)
    spans = split(document)
    assert document.text == text
    assert "".join(text[span.start : span.end] for span in spans) == ("" if is_blank(text) else text)
    assert bool(spans) == (not is_blank(text))
    borders = [offset for span in spans for offset in (span.start, span.end)]
    assert borders == sorted(borders)


@given(text=TEXTS, format_=FORMATS)
def test_there_is_something_to_see_in_every_source(text: str, format_: Format) -> None:
    for span in split(parse(text, "name", format_), SMALL):
        assert not is_blank(text, span.start, span.end)


@given(text=TEXTS, format_=FORMATS)
def test_no_source_is_longer_than_the_limits_say(text: str, format_: Format) -> None:
    spans = split(parse(text, "name", format_), SMALL)
    assert "".join(text[span.start : span.end] for span in spans) == ("" if is_blank(text) else text)
    for span in spans:
        assert visible_words(text[span.start : span.end]) <= LONGEST


@given(text=TEXTS, format_=FORMATS)
def test_the_same_text_gives_the_same_sources(text: str, format_: Format) -> None:
    assert split(parse(text, "name", format_)) == split(parse(text, "name", format_))


SECTIONS = st.lists(
    st.tuples(st.integers(1, 4), st.lists(st.integers(1, 300), min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)
"""For each section the level of its heading, and the words of its paragraphs."""


def as_markdown(level: int, title: str) -> str:
    return f"{'#' * level} {title}"


def as_rst(level: int, title: str) -> str:
    return f"{title}\n{'=-~^'[level - 1] * 20}"


def written(sections: list[tuple[int, list[int]]], heading: Callable[[int, str], str]) -> str:
    """Every word of a paragraph names its section: s3p0, s3p1 ..."""
    parts: list[str] = []
    for number, (level, paragraphs) in enumerate(sections):
        parts.append(heading(level, f"Section {number}"))
        parts += (" ".join([f"s{number}p{i}"] * size) for i, size in enumerate(paragraphs))
    return "\n\n".join(parts)


def paths(levels: list[int]) -> list[tuple[str, ...]]:
    """For each heading: itself, and of those before it the nearest of every higher level."""
    found: list[tuple[str, ...]] = []
    for number, level in enumerate(levels):
        path, lowest = [f"Section {number}"], level
        for before in reversed(range(number)):
            if levels[before] < lowest:
                path.insert(0, f"Section {before}")
                lowest = levels[before]
        found.append(tuple(path))
    return found


@pytest.mark.parametrize(("format_", "heading"), [("markdown", as_markdown), ("rst", as_rst)])
@given(sections=SECTIONS)
def test_every_source_has_the_headings_above_it_and_one_section_only(
    format_: Format, heading: Callable[[int, str], str], sections: list[tuple[int, list[int]]]
) -> None:
    levels = [level for level, _ in sections]
    if format_ == "rst":  # there a level is what appears first, second ...
        order = list(dict.fromkeys(levels))
        levels = [order.index(level) + 1 for level in levels]
    expected = paths(levels)
    document: ParsedDocument = parse(written(sections, heading), "name", format_)
    for span in split(document):
        marks = {
            word.split("p")[0]
            for word in document.text[span.start : span.end].split()
            if word.startswith("s")
        }
        assert len(marks) == 1
        assert span.heading == expected[int(marks.pop()[1:])]


@given(sections=SECTIONS)
def test_paragraphs_of_usual_length_are_neither_joined_nor_split(
    sections: list[tuple[int, list[int]]],
) -> None:
    usual = [(level, [min(max(size, 40), 250) for size in sizes]) for level, sizes in sections]
    document = parse(written(usual, as_markdown), "a.md")
    assert len(split(document)) == sum(len(sizes) for _, sizes in usual)


@given(TEXTS, FORMATS)
def test_the_blocks_of_the_sources_are_those_of_the_document(text: str, format_: Format) -> None:
    document = parse(text, "a", format_)
    spans = split(document)
    for span, blocks in zip(spans, blocks_of(document, spans), strict=True):
        starts = [span.start + block.start for block in blocks]
        assert starts == sorted(set(starts))
        within = [(each.kind, each.start) for each in document.blocks if span.start <= each.start < span.end]
        assert [(each.kind, at) for each, at in zip(blocks, starts, strict=True)][-len(within) :] == within
        assert len(blocks) - len(within) in {0, 1}, "one may have begun in the source before"
        if not within:
            before = [each.kind for each in document.blocks if each.start < span.start]
            assert [each.kind for each in blocks] == before[-1:] or (not document.blocks and blocks)
