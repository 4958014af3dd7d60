from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kg_api.text import markdown
from kg_api.text.documents import parse, with_images
from kg_api.text.markdown import read_front_matter
from kg_api.text.sources import split
from tests.unit.parse.shapes import seen

DOCUMENT = """\
Before.

# One *two*
para
goes on
- item
  1. inner
     text

  ```sh
  # no heading
  ```
> quoted
> # no heading of the document

| a | b |
|---|---|
| c | d |

Setext
title
---
[ref]: target

    indented

<div>
</div>

***
"""


def test_every_kind_of_block() -> None:
    assert seen(DOCUMENT, markdown.parse_blocks(DOCUMENT)) == [
        ("paragraph", "Before."),
        ("heading1", "# One *two*"),
        ("paragraph", "para\ngoes on"),
        ("list_item", "- item"),
        ("list_item", "1. inner\n     text"),
        ("code", "```sh\n  # no heading\n  ```"),
        ("paragraph", "> quoted"),
        ("paragraph", "> # no heading of the document"),
        ("table", "| a | b |\n|---|---|\n| c | d |"),
        ("heading2", "Setext\ntitle\n---"),
        ("paragraph", "[ref]: target"),
        ("code", "indented"),
        ("markup", "<div>\n</div>"),
        ("other", "***"),
    ]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# One *two* `three`", "One two three"),
        ("## [Linked](http://x.example/a_b) and ![pic](y.png)", "Linked and pic"),
        ("### Trailing ###", "Trailing"),
        ("# C# and F\\#", "C# and F#"),
        ("# `__init__` {#anchor}", "__init__"),
        ("#", ""),
        ("# " + "x" * 5000, "x" * 199 + "…"),
    ],
)
def test_titles(line: str, title: str) -> None:
    (block,) = markdown.parse_blocks(line)
    assert (block.kind, block.title) == ("heading", title)


LINES = st.sampled_from(
    [
        "", "# h", "text", "- a", "  - b", "1. c", "   d", "    code", "```", "> q", "|a|b|", "|-|-|",
        "---", "<div>", "\tx",
    ]
)  # fmt: skip


@given(lines=st.lists(LINES, max_size=60), window=st.integers(1, 20))
def test_parsing_in_parts_equals_parsing_the_whole(lines: list[str], window: int) -> None:
    text = "\n".join(lines)
    whole = markdown.parse_blocks(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "_WINDOW", window)
        assert markdown.parse_blocks(text) == whole


ROW = [
    "|c|d|",
    "c",
    " c|d",
    "    |c|",
    "\t|c|",
    "",
    "> c",
    "- c",
    "  - c",
    "# c",
    "---",
    "```",
    "<div>",
    "2. c",
    "> - c",
]


@pytest.mark.parametrize(
    "head", ["|a|b|\n|-|-|\n", "> a|b\n> -|-\n> c\n", "- |a|\n  |-|\n", "1. - a|b\n     -|-\n"]
)
@pytest.mark.parametrize("row", ROW)
def test_table_ends_where_that_of_markdown_it_ends(head: str, row: str) -> None:
    text = f"{head}{row}\n{row}\n  {row}\n     {row}\n> {row}\nz\n"
    parser = MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])
    tables = [token.map for token in parser.parse(text) if token.type == "table_open" and token.map]
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    found = [(block.start, block.end) for block in markdown.parse_blocks(text) if block.kind == "table"]
    assert found == [(starts[begin], starts[end]) for begin, end in tables]
    assert found


def test_sparse_table_is_one_block() -> None:
    text = "|h" * 300 + "\n" + "|-" * 300 + "\n" + "|a\n" * 300
    assert [(block.kind, block.end) for block in markdown.parse_blocks(text)] == [("table", len(text))]


def test_table_with_a_long_row_is_a_table() -> None:
    text = f"a | b\n--|--\n{'c ' * 60_000}| d\n"
    assert [(block.kind, block.end) for block in markdown.parse_blocks(text)] == [("table", len(text))]


def test_table_of_many_rows_is_one_block() -> None:
    text = "a | b\n--|--\n" + "c | d\n" * 40_000
    assert [(block.kind, block.end) for block in markdown.parse_blocks(text)] == [("table", len(text))]


HEAD = """---
title: "The *real* title"
date: 2025-03-01
tags: [a, b]
draft: false
rating: 4.5
seen: 2025-03-01T10:00:00
mixed: [1, two]
nothing:
---
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_front_matter_belongs_to_no_passage(newline: str) -> None:
    text = (HEAD + "# Heading\n\nText.\n").replace("\n", newline)
    parsed = parse(text, "a.md")
    assert parsed.title == "The real title"
    assert parsed.metadata == {
        "date": "2025-03-01",
        "tags": ["a", "b"],
        "draft": False,
        "rating": 4.5,
        "seen": "2025-03-01T10:00:00",
        "mixed": ["1", "two"],
    }
    spans = split(parsed)
    assert text[: spans[0].start] == HEAD.replace("\n", newline)
    assert text[spans[0].start : spans[-1].end].startswith("# Heading")
    assert spans[-1].end == len(text)
    assert not parsed.notes


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("b: 1\na: Plan: first", "line 3: mapping values are not allowed here"),
        ("a: [}", "line 2: expected"),
        ("a: !!int x", "(invalid literal for int() with base 10: 'x')"),
        ("a: !!python/object/apply:os.system [ls]", "line 2: could not determine a constructor"),
        ("a: &x [1]\nb: *x", "(aliases are not read)"),
        ("a: " + "[" * 3000, "(its values are nested too deeply)"),
    ],
)
def test_invalid_yaml_stays_text_and_is_reported(said: str, reason: str) -> None:
    parsed = parse(f"---\n{said}\n---\nText.\n", "a.md")
    assert (parsed.body, dict(parsed.metadata)) == (0, {})
    assert "front matter" in parsed.notes[0]
    assert reason in parsed.notes[0]
    assert split(parsed)[0].start == 0


def test_date_that_does_not_exist_stays_text() -> None:
    parsed = parse("---\ntitle: Plan\ndate: 2025-02-31\n---\nText.\n", "a.md")
    assert (parsed.title, parsed.metadata, parsed.notes) == ("Plan", {"date": "2025-02-31"}, ())


def test_empty_heading_adds_nothing_to_the_path() -> None:
    parsed = parse("# A\n\na\n\n##\n\nb\n\n#\n\nc\n", "a.md")
    assert [each.heading for each in split(parsed)] == [("A",), ("A",), ()]


def test_file_with_only_front_matter_is_kept() -> None:
    text = "---\ntitle: Alone\ndate: 2025-03-01\n---\n\n"
    parsed = parse(text, "a.md")
    assert (parsed.title, parsed.metadata) == ("Alone", {"date": "2025-03-01"})
    assert [text[each.start : each.end] for each in split(parsed)] == [text]


INVALID = ("the front matter is not valid TOML and stays in the text",)
TOML_HEAD = """+++
title = "Harbour plan"
date = 2026-03-01
published = 2026-03-01T10:00:00+01:00
seen = 2026-03-01T10:00:00
opens = 07:30:00
tags = ["cranes", "quay"]
draft = false
weight = 12
share = 0.5
[params]
color = "red"
+++
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_toml_head_is_metadata_and_no_passage(newline: str) -> None:
    text = (TOML_HEAD + "\nThe harbour gets two cranes.\n").replace("\n", newline)
    parsed = parse(text, "a.md")
    assert parsed.title == "Harbour plan"
    assert parsed.metadata == {
        "date": "2026-03-01",
        "published": "2026-03-01T10:00:00+01:00",
        "seen": "2026-03-01T10:00:00",
        "opens": "07:30:00",
        "tags": ["cranes", "quay"],
        "draft": False,
        "weight": 12,
        "share": 0.5,
    }
    assert parsed.notes == ("front matter that kg cannot store as metadata: params",)
    assert [text[each.start : each.end].strip() for each in split(parsed)] == ["The harbour gets two cranes."]


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("+++\ntitle = 'never closed'\n", ()),
        ("++++\ntitle = 'x'\n++++\n", ()),
        ("text\n+++\ntitle = 'x'\n+++\n", ()),
        ("+++\ntitle = no quotes\n+++\nText.\n", INVALID),
        ("+++\na = " + "[" * 5_000 + "\n+++\n", INVALID),
        ('{"title": "a JSON head"}\n\nText.\n', ()),
        ("---\nWords between two lines.\n---\nText.\n", ()),
    ],
)
def test_other_heads_stay_text(text: str, notes: tuple[str, ...]) -> None:
    front = read_front_matter(text)
    assert (front.end, front.title, front.notes) == (0, "", notes)


@given(st.text(alphabet="ab \n", min_size=1), st.data())
def test_text_of_an_image_is_its_own_block(text: str, data: st.DataObject) -> None:
    document = parse(text, "", "markdown")
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assume(text[start:end].strip())
    within = any(block.start <= start and end <= block.end for block in document.blocks)
    marked = with_images(document, [(start, end)])
    images = [text[each.start : each.end].strip() for each in marked.blocks if each.kind == "image"]
    assert images == ([text[start:end].strip()] if within else [])
    assert "".join(text[each.start : each.end] for each in marked.blocks) == "".join(
        text[each.start : each.end] for each in document.blocks
    )
