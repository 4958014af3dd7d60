"""Org files: headlines, blocks and what their keywords say."""

from __future__ import annotations

import time

import pytest

from kg_api.text.documents import parse
from kg_api.text.sources import split

TEXT = """\
#+TITLE: On call
#+AUTHOR: Ada
#+DATE: <2025-03-01 Sat>
#+FILETAGS: :oncall:night:
#+KEYWORDS: phone, pager

Who is on call reads this.
* TODO [#A] Restart the service :ops:
SCHEDULED: <2025-03-02 Sun>
:PROPERTIES:
:ID: 1
:END:
Do it *by hand*.
- first
- second
#+BEGIN_SRC sh
kg up

kg status
#+END_SRC
** Tables
| a | b |
|---+---|
| 1 | 2 |
-----
#+begin_quote
Said once.
#+end_quote
# a comment
"""


def test_blocks_and_what_the_file_says_of_itself() -> None:
    parsed = parse(TEXT, "oncall.org")
    assert (parsed.format, parsed.title) == ("org", "On call")
    assert parsed.metadata == {
        "author": "Ada",
        "date": "2025-03-01",
        "tags": ["oncall", "night", "phone", "pager"],
    }
    kinds = [(each.kind, TEXT[each.start : each.end].partition("\n")[0]) for each in parsed.blocks]
    assert kinds[5:] == [
        ("paragraph", "Who is on call reads this."),
        ("heading", "* TODO [#A] Restart the service :ops:"),
        ("markup", "SCHEDULED: <2025-03-02 Sun>"),
        ("markup", ":PROPERTIES:"),
        ("paragraph", "Do it *by hand*."),
        ("list_item", "- first"),
        ("list_item", "- second"),
        ("code", "#+BEGIN_SRC sh"),
        ("heading", "** Tables"),
        ("table", "| a | b |"),
        ("other", "-----"),
        ("markup", "#+begin_quote"),
        ("paragraph", "Said once."),
        ("other", "#+end_quote"),
        ("other", "# a comment"),
    ]
    assert [(each.level, each.title) for each in parsed.blocks if each.kind == "heading"] == [
        (1, "Restart the service"),
        (2, "Tables"),
    ]


def test_sources_join_to_the_text_and_stand_under_their_headlines() -> None:
    spans = split(parse(TEXT, "oncall.org"))
    assert "".join(TEXT[each.start : each.end] for each in spans) == TEXT
    assert [each.heading for each in spans] == [
        (),
        ("Restart the service",),
        ("Restart the service", "Tables"),
    ]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_ends_of_lines(newline: str) -> None:
    text = TEXT.replace("\n", newline)
    parsed = parse(text, "a.org")
    assert [each.title for each in parsed.blocks if each.kind == "heading"] == [
        "Restart the service",
        "Tables",
    ]
    assert parsed.title == "On call"


@pytest.mark.parametrize(
    "text",
    [
        "#+begin_src\n" * 20_000,
        ":a:\n" * 20_000,
        "* a\n" * 20_000,
        "".join("*" * level + " a\n" for level in range(1, 1500)),
        ("#+begin_src\n" * 5 + "* a\n") * 4_000 + "#+end_src\n",
    ],
    ids=["open blocks", "open drawers", "headlines", "levels", "both"],
)
def test_a_hostile_file_takes_time_by_its_length(text: str) -> None:
    begin = time.process_time()
    spans = split(parse(text, "a.org"))
    assert "".join(text[each.start : each.end] for each in spans) == text
    assert time.process_time() - begin < 20  # the square of it took minutes
