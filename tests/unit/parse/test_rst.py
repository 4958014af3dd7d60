import time

import pytest

from kg_api.text import rst
from kg_api.text.documents import parse
from kg_api.text.sources import split
from tests.unit.parse.shapes import seen

DOCUMENT = """\
PEP: 8
Title: Style Guide
  for Code

=====
Title
=====

Intro
that goes on::

  literal

  still literal
back

1. First
   goes on
2. Second

   - inner::

       code
A. Einstein was
no list.

.. code-block:: python
   :caption: x

   # Not a heading
   ---------------

.. note:: Take care.

   Inner paragraph.

.. [1] A footnote
   goes on
.. _link: http://x.example/

.. A comment

   that goes on
..

   quoted

Section
-------
=====  =====
a      b
=====  =====
c      d

=====  =====

+---+
| a |
+---+

>>> 1 + 1
2

:field: value
term
  definition

----

.. _anchor:

Sub
~~~
Last"""


def test_every_kind_of_block() -> None:
    assert seen(DOCUMENT, rst.parse_blocks(DOCUMENT)) == [
        ("markup", "PEP: 8\nTitle: Style Guide\n  for Code"),
        ("heading1", "=====\nTitle\n====="),
        ("paragraph", "Intro\nthat goes on::"),
        ("code", "literal\n\n  still literal"),
        ("paragraph", "back"),
        ("list_item", "1. First\n   goes on"),
        ("list_item", "2. Second"),
        ("list_item", "- inner::"),
        ("code", "code"),
        ("paragraph", "A. Einstein was\nno list."),
        ("code", ".. code-block:: python\n   :caption: x\n\n   # Not a heading\n   ---------------"),
        ("markup", ".. note:: Take care."),
        ("paragraph", "Inner paragraph."),
        ("markup", ".. [1] A footnote\n   goes on"),
        ("markup", ".. _link: http://x.example/"),
        ("other", ".. A comment\n\n   that goes on"),
        ("markup", ".."),
        ("paragraph", "quoted"),
        ("heading2", "Section\n-------"),
        ("table", "=====  =====\na      b\n=====  =====\nc      d\n\n=====  ====="),
        ("table", "+---+\n| a |\n+---+"),
        ("code", ">>> 1 + 1\n2"),
        ("list_item", ":field: value"),
        ("list_item", "term\n  definition"),
        ("other", "----"),
        ("heading3", ".. _anchor:\n\nSub\n~~~"),
        ("paragraph", "Last"),
    ]
    assert rst.find_pep_title(DOCUMENT) == "Style Guide for Code"


def levels(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in rst.parse_blocks(text) if block.kind == "heading"]


def test_levels_follow_the_first_appearance_of_a_style() -> None:
    text = "==\nA\n==\nB\n==\nC\n--\nD\n==\n--\nE\n--\nF\n^^^^\n==\nG\n==\n"
    assert levels(text) == [(1, "A"), (2, "B"), (3, "C"), (2, "D"), (4, "E"), (5, "F"), (1, "G")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ünïcödé\n=======", [(1, "Ünïcödé")]),
        ("漢字\n====", [(1, "漢字")]),
        ("A ``b`` *c* :pep:`8` `d <http://e>`_\n====", [(1, "A b c 8 d")]),
        ("Exception\\ s\n====", [(1, "Exceptions")]),
        ("1. Numbered\n===========", [(1, "1. Numbered")]),
        ("Short\n===", []),
        ("text\nTitle\n=====", []),
        ("  Quoted\n  ======", []),
        ("- item\n------", []),
        ("::\n\n  Title\n  =====", []),
        ("=====\nOver\n-----", []),
    ],
)
def test_headings_are_recognized(text: str, expected: list[tuple[int, str]]) -> None:
    assert levels(text) == expected


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("- item::\n\n  at the text", ["list_item", "paragraph"]),
        ("para::\n\nnot indented", ["paragraph", "paragraph"]),
        ("==  ==\nno table", ["paragraph"]),
        ("==  ==\na\n===  ==\n\nb", ["paragraph", "paragraph"]),
        (":pep:`8` says", ["paragraph"]),
        (".. |x| replace:: y", ["markup"]),
        (".. csv-table:: T\n\n   a, b", ["table"]),
        ("::", ["paragraph"]),
        ("term\n  definition\nterm\n  definition", ["list_item", "list_item"]),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [block.kind for block in rst.parse_blocks(text)] == kinds


TEXT = """\
#+TITLE: On call
#+AUTHOR: Ada
#+DATE: <2025-03-01 Sat>
#+FILETAGS: :oncall:night:
#+KEYWORDS: phone, pager,
#+LANGUAGE:

Who is on call reads this.
* TODO [#A] Restart the service :ops:
SCHEDULED: <2025-03-02 Sun>
:PROPERTIES:
:ID: 1
:END:
Do it *by hand*.
- first
- second
  item
#+BEGIN_SRC sh
kg up

kg status
  #+END_SRC
Then look.
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


def test_org_blocks_and_metadata_are_read() -> None:
    parsed = parse(TEXT, "oncall.org")
    assert (parsed.format, parsed.title) == ("org", "On call")
    assert parsed.metadata == {
        "author": "Ada",
        "date": "2025-03-01",
        "tags": ["oncall", "night", "phone", "pager"],
    }
    kinds = [(each.kind, TEXT[each.start : each.end].partition("\n")[0]) for each in parsed.blocks]
    assert kinds[6:] == [
        ("paragraph", "Who is on call reads this."),
        ("heading", "* TODO [#A] Restart the service :ops:"),
        ("markup", "SCHEDULED: <2025-03-02 Sun>"),
        ("markup", ":PROPERTIES:"),
        ("paragraph", "Do it *by hand*."),
        ("list_item", "- first"),
        ("list_item", "- second"),
        ("code", "#+BEGIN_SRC sh"),
        ("paragraph", "Then look."),
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
    assert parse("#+TITLE: Plain\n\nText", "a.org").metadata == {}


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
