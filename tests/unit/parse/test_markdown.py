from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.token import Token

from kg_api.text import markdown
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
    assert seen(DOCUMENT, markdown.blocks(DOCUMENT)) == [
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


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_newlines_of_all_systems_give_the_same_blocks(newline: str) -> None:
    text = DOCUMENT.replace("\n", newline)
    expected = [
        (kind, part.replace("\n", newline)) for kind, part in seen(DOCUMENT, markdown.blocks(DOCUMENT))
    ]
    assert seen(text, markdown.blocks(text)) == expected


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
    (block,) = markdown.blocks(line)
    assert (block.kind, block.title) == ("heading", title)


LINES = st.sampled_from(
    [
        "",
        "# h",
        "text",
        "- a",
        "  - b",
        "1. c",
        "   d",
        "    code",
        "```",
        "> q",
        "|a|b|",
        "|-|-|",
        "---",
        "<div>",
        "\tx",
    ]
)


@given(lines=st.lists(LINES, max_size=60), window=st.integers(1, 20))
def test_a_text_parsed_in_parts_has_the_blocks_of_the_whole(lines: list[str], window: int) -> None:
    text = "\n".join(lines)
    whole = markdown.blocks(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "_WINDOW", window)
        assert markdown.blocks(text) == whole


def test_a_long_list_is_parsed_about_once() -> None:
    text, lines = "- item\n" * 1000, 0
    parse = markdown._parse

    def counting(text: str, starts: Sequence[int], line: int, stop: int) -> list[Token]:
        nonlocal lines
        lines += stop - line
        return parse(text, starts, line, stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "_WINDOW", 50)
        patch.setattr(markdown, "_parse", counting)
        assert len(markdown.blocks(text)) == 1000
    assert lines < 1100


def test_a_row_without_end_makes_no_table() -> None:
    text = f"{'a|' * 60_000}\n{'-|' * 60_000}\n"
    assert [block.kind for block in markdown.blocks(text)] == ["paragraph"]


@given(st.lists(LINES, max_size=40).map("\n".join))
def test_no_word_is_outside_of_the_blocks(text: str) -> None:
    covered = [False] * len(text)
    for block in markdown.blocks(text):
        assert not any(covered[block.start : block.end])
        covered[block.start : block.end] = [True] * (block.end - block.start)
    lost = "".join(character for character, inside in zip(text, covered, strict=True) if not inside)
    assert not any(character.isalpha() and character not in "abc" for character in lost)
