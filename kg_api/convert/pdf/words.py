"""Lines to running text: words that a line's end tore apart are whole again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kg_api.convert.pdf.letters import are_cjk

_TORN = re.compile(r"([^\W\d_]+)[-\xad]$")
_RANGE = re.compile(r"\d[-–]$|\w-$")
_BEGINNING = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LEADERS = re.compile(r"(?:\s?[.·…_]){5,}")
_MARK = re.compile(
    r"(?=#{1,6}(?:\s|$)|[-+*](?:\s|$)|>|<[A-Za-z!/?]|`{3}|~{3}|\||[-*_=](?:\s*[-*_=]){2,}\s*$)"
)
_NUMBER_MARK = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


class Vocabulary:
    """The words of a document, by which a hyphen at a line's end is judged."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._seen: set[str] = set()
        for line in lines:
            self._seen.update(_WORDS.findall(line.casefold()))

    def joined(self, lines: Iterable[str]) -> str:
        """Make one line of the lines of a paragraph."""
        text = ""
        for line in lines:
            text = self._join(text, line.strip()) if text else line.strip()
        return clean(text)

    def _join(self, text: str, line: str) -> str:
        if not line:
            return text
        if _RANGE.search(text) and line[0].isdigit():
            return text + line
        if torn := _TORN.search(text):
            following = _BEGINNING.match(line)
            if following and line[0].islower() and not self._is_compound(text, torn[1], following[0]):
                return text[:-1] + line
            return text + line if following else f"{text} {line}"
        between = "" if are_cjk(text, line) else " "
        if text[-1] == "\xad":
            return text[:-1] + line
        return text + between + line

    def _is_compound(self, text: str, head: str, tail: str) -> bool:
        """Keep a hyphen that the document writes within a line too, unless the word stands there whole."""
        if text[-1] == "\xad":
            return False
        head, tail = head.casefold(), tail.casefold()
        if head + tail in self._seen:
            return False
        if f"{head}-{tail}" in self._seen:
            return True
        return text[: -len(head) - 1].endswith("-")


def clean(text: str) -> str:
    """Give the words on one line, without soft hyphens and rows of dots."""
    return " ".join(_LEADERS.sub(" … ", text).replace("\xad", "").split())


def escaped(paragraph: str) -> str:
    """Keep a paragraph from being taken for a heading, list, quotation, table or code by its beginning."""
    if _MARK.match(paragraph):
        return f"\\{paragraph}"
    return _NUMBER_MARK.sub(r"\1\\\2", paragraph, count=1) if _NUMBER_MARK.match(paragraph) else paragraph
