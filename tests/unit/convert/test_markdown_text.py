import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kg_api.convert.shared.markdown_text import (
    MarkdownWriter,
    join_lines,
    lower_text,
    raise_text,
    write_code_block,
    write_heading,
    write_paragraph,
    write_table,
)
from kg_api.text.documents import parse
from kg_api.text.markdown import parse_blocks
from kg_api.text.sources import split

MARKS = st.text(alphabet="#>-+*_`~|=\\<>/!1234.) \t\nabc[]:&'\"é\u00ad", max_size=40)
TEXTS = MARKS | st.text(max_size=40)


def cells(text: str) -> list[list[str]]:
    parser = MarkdownIt("commonmark").enable("table").disable(["inline"])
    tokens, rows = parser.parse(text), list[list[str]]()
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token.content)
    return rows


@given(TEXTS)
def test_paragraph_round_trips_through_markdown(text: str) -> None:
    line = write_paragraph(text)
    found = parse_blocks(line + "\n")
    assert [block.kind for block in found] == (["paragraph"] if join_lines(text) else [])
    assert line.replace("\\", "") == join_lines(text).replace("\\", "")


@given(TEXTS, st.integers(1, 6))
def test_a_heading_keeps_its_level_and_its_words(text: str, level: int) -> None:
    found = parse_blocks(write_heading(level, text) + "\n\nx\n")
    assert [(block.kind, block.level) for block in found] == [("heading", level), ("paragraph", 0)]


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=1, max_size=6))
def test_a_table_is_read_back_with_its_cells(rows: list[list[str]]) -> None:
    text = write_table(rows) + "\n"
    assert [block.kind for block in parse_blocks(text)] == ["table"]
    width = max(map(len, rows))
    assert cells(text) == [[join_lines(cell) for cell in row] + [""] * (width - len(row)) for row in rows]


@pytest.mark.parametrize(("columns", "rows"), [(2, 300), (6, 46), (6, 400), (20, 60), (35, 30)])
def test_long_table_passages_repeat_the_header(columns: int, rows: int) -> None:
    header = [f"column {at}" for at in range(columns)]
    text = write_table([header, *([f"cell {row}"] * columns for row in range(rows))]) + "\n"
    passages = [text[span.start : span.end] for span in split(parse(text, "t.md", "markdown"))]
    assert len(passages) > 1
    assert all(passage.startswith("| column 0 |") for passage in passages)


@given(st.text(alphabet="`~ab\n \r", max_size=60), st.text(max_size=10))
def test_code_is_one_block_whatever_is_in_it(code: str, language: str) -> None:
    text = write_code_block(code, language) + "\n\nafter\n"
    assert [block.kind for block in parse_blocks(text)] == ["code", "paragraph"]


@given(st.lists(st.tuples(st.sampled_from(["add", "item"]), TEXTS), max_size=12))
def test_the_writer_knows_where_the_next_block_begins(written: list[tuple[str, str]]) -> None:
    writer, starts = MarkdownWriter(), list[tuple[int, str]]()
    for how, text in written:
        line = write_paragraph(text)
        if how == "item":
            writer.add_item(text)
        elif line:
            starts.append((writer.position, line))
            writer.add(line)
    assert all(writer.text()[at:].startswith(line) for at, line in starts)
    assert len(parse_blocks(writer.text())) == sum(1 for _, text in written if join_lines(text))


def test_numbered_items_of_one_depth_are_one_list() -> None:
    writer = MarkdownWriter()
    for text, indent, marker in [
        ("a", "", "2. "),
        ("b", "   ", "2. "),
        ("c", "   ", "3. "),
        ("d", "", "3. "),
    ]:
        writer.add_item(text, indent, marker)
    assert writer.text() == "2. a\n\n   2. b\n   3. c\n\n3. d\n"


@pytest.mark.parametrize(
    ("text", "raised", "lowered"),
    [
        ("6", "⁶", "₆"),
        ("n-1", "ⁿ⁻¹", "ₙ₋₁"),
        ("x", "ˣ", "ₓ"),
        ("b", "ᵇ", "_b"),
        ("th", "th", "th"),
        ("total", "^total", "_total"),
        ("6.5", "^(6.5)", "_(6.5)"),
        ("２", "^(２)", "_(２)"),
        ("[4]", "[4]", "[4]"),
        ("(2)", "⁽²⁾", "₍₂₎"),
        ("*", "*", "*"),
        ("TM", "™", "TM"),
    ],
)
def test_raised_and_lowered_text_joins_no_number(text: str, raised: str, lowered: str) -> None:
    assert (raise_text(text), lower_text(text)) == (raised, lowered)
