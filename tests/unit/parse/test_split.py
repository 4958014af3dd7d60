from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.documents import Format, ParsedDocument
from kg_api.text.cutting import LINES, Borders, build_prose_levels, count_words, cut, find_character_borders
from kg_api.text.documents import parse
from kg_api.text.lines import is_blank
from kg_api.text.sources import SplitLimits, assign_blocks, split
from tests.unit.parse.shapes import many, sources


@pytest.mark.parametrize("text", ["", " \n\n\t", "\u200b\ufeff\n"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst"])
def test_a_blank_document_has_no_sources(text: str, name: str) -> None:
    assert sources(text, name) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\n# B\n\ntext", [("B", "# A\n\n# B\n\ntext")]),
        ("# A\n\ntext\n\n# B\n\n## C", [("A", "# A\n\ntext\n\n# B\n\n## C")]),
        ("# A\n\n## B", [("A > B", "# A\n\n## B")]),
        ("before\n\n# A\n\ntext", [("", "before"), ("A", "# A\n\ntext")]),
    ],
    ids=["without text", "at the end", "alone", "text before it"],
)
def test_heading_joins_the_nearest_text(text: str, expected: list[tuple[str, str]]) -> None:
    assert sources(text, "a.md") == expected


def test_nothing_is_joined_across_a_heading() -> None:
    text = "\n\n".join(f"## H{i}\n\nfew words" for i in range(5))
    assert [path for path, _ in sources(text, "a.md")] == [f"H{i}" for i in range(5)]


def test_code_stays_with_the_text_before_it() -> None:
    text = f"{many(120)}\n\n    code here\n\n{many(60)}"
    assert len(sources(text, "a.md")) == 2
    assert sources(text, "a.md")[0][1].endswith("code here")


def test_code_is_whole_up_to_a_larger_limit() -> None:
    whole = "```\n" + f"{many(9)}\n" * 40 + "```"
    longer = "```\n" + f"{many(9)}\n" * 60 + "```"
    assert [text for _, text in sources(whole, "a.md")] == [whole]
    parts = [text for _, text in sources(longer, "a.md")]
    assert len(parts) == 3
    assert all(count_words(part) <= 200 for part in parts)


def test_a_long_paragraph_is_split_at_sentences() -> None:
    text = "This sentence has got exactly eight words today. " * 40
    parts = [text for _, text in sources(text, "a.txt")]
    assert [count_words(part) for part in parts] == [160, 160]
    assert all(part.endswith(".") for part in parts)


def test_chinese_is_split_by_its_characters() -> None:
    parts = [text for _, text in sources("今天的天气很好，我们去公园散步。" * 60, "a.txt")]
    assert len(parts) == 3
    assert all(part.endswith("。") and len(part) <= 400 for part in parts)


def test_edit_in_a_section_keeps_the_others() -> None:
    section = "\n\n".join([many(30), many(70), "- a", many(45)])
    before = f"# A\n\n{section}\n\n# B\n\n{section}\n\n# C\n\n{section}"
    after = before.replace("# B\n\n", f"# B\n\n{many(90, 'new')}\n\n")
    old, new = sources(before, "a.md"), sources(after, "a.md")
    assert [source for source in old if source[0] != "B"] == [source for source in new if source[0] != "B"]


FORMATS = st.sampled_from(["text", "markdown", "rst"])
SMALL = SplitLimits(join_below=8, enough=20, most=45, split_above=50, split_code_above=80)
LONGEST = SMALL.split_above + SMALL.split_code_above + SMALL.split_above
"""Build headings, a block, and the headings at the end of the document."""

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=400)
MARKED_LINES = st.sampled_from(
    [
        *("", "", "some plain words.", "One. Two! Three?", "word " * 60, "x" * 700),
        *("漢字。" * 40, "\u200b" * 30),
        *(
            "# Heading", "## Second *level*", "Title", "=====", "-----", "~~~~", "- item", "  - inner",
            "1. first",
        ),
        *(
            "    indented", "```", "| a | b |", "|---|---|", "> quoted", "::", ".. note:: a", "..",
            "text::", ":f: v",
        ),
        *("---", "title: x", "\tx\r", "\u2028", "PEP: 1", "Title: y", "=== ===", "+---+", "<div>"),
    ]
)  # fmt: skip
MARKED_TEXT = st.lists(MARKED_LINES, max_size=40).map("\n".join)
TEXTS = st.one_of(ANY_TEXT, MARKED_TEXT)


def visible_words(text: str) -> int:
    return count_words("".join(c for c in text if c.isspace() or not is_blank(c)))


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
def test_sources_are_visible_and_within_the_limits(text: str, format_: Format) -> None:
    for span in split(parse(text, "name", format_), SMALL):
        assert not is_blank(text, span.start, span.end)
        assert visible_words(text[span.start : span.end]) <= LONGEST


SECTIONS = st.lists(
    st.tuples(st.integers(1, 4), st.lists(st.integers(1, 300), min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)
"""Return the level of the heading and the words of the paragraphs, for each section."""


def as_markdown(level: int, title: str) -> str:
    return f"{'#' * level} {title}"


def as_rst(level: int, title: str) -> str:
    return f"{title}\n{'=-~^'[level - 1] * 20}"


def written(sections: list[tuple[int, list[int]]], heading: Callable[[int, str], str]) -> str:
    """Build paragraphs. You can see the section in each word: s3p0, s3p1, and so on."""
    parts: list[str] = []
    for number, (level, paragraphs) in enumerate(sections):
        parts.append(heading(level, f"Section {number}"))
        parts += (" ".join([f"s{number}p{i}"] * size) for i, size in enumerate(paragraphs))
    return "\n\n".join(parts)


def paths(levels: list[int]) -> list[tuple[str, ...]]:
    """Return the path for each heading: the heading itself, and the nearest one before it at each higher
    level."""
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
def test_source_has_its_headings_and_one_section(
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
def test_ordinary_paragraphs_are_unchanged(sections: list[tuple[int, list[int]]]) -> None:
    usual = [(level, [min(max(size, 40), 250) for size in sizes]) for level, sizes in sections]
    document = parse(written(usual, as_markdown), "a.md")
    assert len(split(document)) == sum(len(sizes) for _, sizes in usual)


@given(TEXTS, FORMATS)
def test_source_blocks_equal_document_blocks(text: str, format_: Format) -> None:
    document = parse(text, "a", format_)
    spans = split(document)
    for span, blocks in zip(spans, assign_blocks(document, spans), strict=True):
        starts = [span.start + block.start for block in blocks]
        assert starts == sorted(set(starts))
        within = [(each.kind, each.start) for each in document.blocks if span.start <= each.start < span.end]
        assert [(each.kind, at) for each, at in zip(blocks, starts, strict=True)][-len(within) :] == within
        assert len(blocks) - len(within) in {0, 1}, "one may have begun in the source before"
        if not within:
            before = [each.kind for each in document.blocks if each.start < span.start]
            assert [each.kind for each in blocks] == before[-1:] or (not document.blocks and blocks)


def pieces(
    text: str, levels: tuple[Borders, ...] | None = None, above: int = 60, most: int = 50
) -> list[str]:
    size = count_words(text)
    spans = cut(
        text,
        (0, len(text)),
        size,
        levels or build_prose_levels(text, 0, len(text), size),
        above=above,
        most=most,
    )
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == len(text)
    return [text[start:end] for start, end in spans]


SENTENCE, FUNCTION = "This one has got six words. ", "def f():\n    pass\n    pass\n\n\n"
LINE = "Here are five small words. "


@pytest.mark.parametrize(
    ("parts", "levels"),
    [
        ([many(60)], None),
        ([SENTENCE * 7] * 2, None),
        ([f"{LINE * 6}\n", f"{LINE * 9}\n", f"{LINE * 9}\n"], None),
        ([FUNCTION * 10] * 2, LINES),
    ],
    ids=["short text", "sentences, in equal parts", "lines", "code at blank lines"],
)
def test_text_is_cut_at_its_best_borders(parts: list[str], levels: tuple[Borders, ...] | None) -> None:
    assert pieces("".join(parts), levels) == parts


def test_a_table_is_cut_between_its_rows() -> None:
    row = "| a | b | c | d |\n"
    assert all(piece.endswith("|\n") for piece in pieces(row * 50, LINES))


FAMILY = "\U0001f469\u200d\U0001f469\U0001f3fd\u200d\U0001f467\ufe0f"


@given(st.lists(st.sampled_from(["a", "e\u0301\u0323", "नि", FAMILY]), min_size=100, max_size=300))
def test_characters_are_not_torn_from_their_marks(parts: list[str]) -> None:
    text = "".join(parts)
    borders = set(find_character_borders(text, 0, len(text)))
    assert borders
    ends = {0}
    for part in parts:
        ends.add(max(ends) + len(part))
    assert borders <= ends
