"""The words of a heading without its marks."""

from __future__ import annotations

import re

_MAX_TITLE_LENGTH = 200
"""Characters kept: the path of headings is stored with every source below it."""
_LOOKED_AT = 2000

_MARKS = (
    (re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)"), r"\1"),  # Markdown link or picture
    (re.compile(r":[\w.+:-]+:`([^`<]*?)(?:\s*<[^`>]*>)?`"), r"\1"),  # RST role
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`_{0,2}"), r"\1"),  # RST link
    (re.compile(r"(`{1,2})([^`]+)\1_{0,2}"), r"\2"),  # code, or an RST reference
    (re.compile(r"(?<!\w)(\*{1,3}|~~)(?=\S)([^*~]+)(?<=\S)\1(?!\w)"), r"\2"),  # emphasis
    (re.compile(r"\\\s"), ""),  # an RST space that separates nothing
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),  # a mark that is meant as a character
    (re.compile(r"\s*\{#[\w-]+\}\s*$"), ""),  # a heading's own anchor
)


def plain_title(raw: str) -> str:
    """Give a heading's words on one line, at most 200 characters, without the usual inline marks."""
    title = raw[:_LOOKED_AT]
    for mark, words in _MARKS:
        title = mark.sub(words, title)
    title = " ".join(title.split())
    return title if len(title) <= _MAX_TITLE_LENGTH else title[: _MAX_TITLE_LENGTH - 1].rstrip() + "…"
