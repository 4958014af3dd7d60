"""Conversations: messages joined into one Markdown document.

Each message is a section: a level-2 heading with author and time, then the text. Each message is at least one
source, and new messages do not change the sources of earlier messages.
If the structure of a text reaches beyond its section (a heading, a fence, or an unclosed comment), kg quotes
each line with `> `. The document parser decides. kg fences a text that
consists only of list markers, because it would otherwise be invisible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kg_api.errors import InvalidInput
from kg_api.schemas.documents import Message
from kg_api.text.lines import NEWLINE, is_blank
from kg_api.text.markdown import parse_blocks

_LEADING_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_STRUCTURE = re.compile(
    r"^[ \t]*(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$|`{3}|~{3}|<[A-Za-z/!?])", re.MULTILINE
)
"""A text without such a line has no headings and no open blocks."""
_LIST_MARKS = re.compile(r"(?:[-+*>]|\d{1,9}[.)]|\s)*")
"""Such a text forms no block, so its heading would belong to the next message."""
_CLOSING_MARKS = re.compile(r"(?:^|(?<=\s))(?=#+$)")
_FRAME = "## x\n\n"
_MAX_NAMED = 10


def consolidate(messages: Sequence[Message], title: str | None = None) -> tuple[str, tuple[str, ...]]:
    """Join messages to Markdown, with notes on blank ones. The text of n is a prefix of the text of n + 1."""
    blank = [str(number) for number, message in enumerate(messages, start=1) if is_blank(message.text)]
    if len(blank) == len(messages):
        raise InvalidInput("messages: all messages are empty. Nothing was stored")
    parts = [format_heading(title, 1)] if title is not None else []
    for message in messages:
        if not is_blank(message.text):
            when = f" — {message.timestamp.isoformat()}" if message.timestamp else ""
            parts.append(f"{format_heading(message.author + when, 2)}{_contain(message.text)}\n\n")
    if not blank:
        return "".join(parts), ()
    named = ", ".join(blank[:_MAX_NAMED]) + (" and more" if len(blank) > _MAX_NAMED else "")
    were = "1 blank message was" if len(blank) == 1 else f"{len(blank)} blank messages were"
    return "".join(parts), (f"{were} skipped: number {named}",)


def quote_block(text: str) -> str:
    """Prefix each line with `> `, so that the text is one block quote."""
    return "\n".join(f"> {line}".rstrip() for line in NEWLINE.split(text))


def format_heading(words: str, level: int) -> str:
    """Return a one-line heading and a blank line, for any input."""
    line = _CLOSING_MARKS.sub(r"\\", " ".join(words.split()))  # escape trailing `#`, which Markdown removes
    return f"{'#' * level} {line}\n\n"


def _contain(text: str) -> str:
    text = _LEADING_BLANK_LINES.sub("", "\n".join(NEWLINE.split(text))).rstrip()
    if _LIST_MARKS.fullmatch(text):
        return f"```\n{text}\n```"
    # Next to a very long line, the parser ignores tables, and a former row may become a heading. Both
    # readings must be harmless.
    harmless = not _STRUCTURE.search(text) or all(
        _is_one_section(each) for each in dict.fromkeys((text, text.replace("|", "¦")))
    )
    return text if harmless else quote_block(text)


def _is_one_section(text: str) -> bool:
    framed = f"{_FRAME}{text}\n\n{_FRAME}"
    headings = [block.start for block in parse_blocks(framed) if block.kind == "heading"]
    return headings == [0, len(framed) - len(_FRAME)]
