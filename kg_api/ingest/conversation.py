"""Messages as one Markdown document. Pure.

Each message is a section of its own: a heading of level 2 says author and time, its text stands below. So
each is a source of its own at least, and a conversation that goes on leaves the sources of what was said
before as they are. A text whose own structure would reach beyond its section (a heading, a fence or a
comment that never ends) becomes a quotation, `> ` before each of its lines, and stays as it is otherwise:
whether it would is asked of the parser that will read the document. One of list marks alone, which would
not be seen, stands in a fence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.errors import InvalidInput
from kg_api.ingest.records import Incoming
from kg_api.models.library.conversations import Conversation, Message
from kg_api.parse.formats.markdown import blocks
from kg_api.parse.lines import NEWLINE, is_blank

_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_STRUCTURE = re.compile(
    r"^[ \t]*(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$|`{3}|~{3}|<[A-Za-z/!?])", re.MULTILINE
)
"""A text without such a line can neither have headings nor leave anything open."""
_LIST_MARKS = re.compile(r"(?:[-+*>]|\d{1,9}[.)]|\s)*")
"""A text of these alone makes no block, and its heading would go to the next message."""
_CLOSING_MARKS = re.compile(r"(?:^|(?<=\s))(?=#+$)")
_FRAME = "## x\n\n"
_MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class ConsolidatedConversation:
    text: str
    notes: tuple[str, ...]
    """What a person should know."""


def consolidate(messages: Sequence[Message], title: str | None = None) -> ConsolidatedConversation:
    """Make one Markdown text of messages, in the order given; the same messages give the same text.

    Blank ones are left out, which a note says. The text of n messages is the beginning of that of n + 1.

    Raises:
        InvalidInput: no message says anything.
    """
    parts = [heading(title, 1)] if title is not None else []
    blank = [at for at, message in enumerate(messages, start=1) if is_blank(message.text)]
    if len(blank) == len(messages):
        raise InvalidInput("messages: none of them says anything; nothing was done")
    parts += [_section(message) for message in messages if not is_blank(message.text)]
    return ConsolidatedConversation("".join(parts), _notes(blank))


def incoming(conversation: Conversation) -> tuple[Incoming, tuple[str, ...]]:
    """Give a conversation as the document that is stored, and notes that a person should see.

    Raises:
        InvalidInput: no message says anything.
    """
    told = consolidate(conversation.messages, conversation.title)
    about = Incoming(
        ontology=conversation.ontology,
        document=conversation.title,
        text=told.text,
        format="markdown",
        title=conversation.title,
        metadata=conversation.metadata,
    )
    return about, told.notes


def quote_block(text: str) -> str:
    """Put `> ` before each line: whatever it says, it stays one block quotation."""
    return "\n".join(f"> {line}".rstrip() for line in NEWLINE.split(text))


def heading(words: str, level: int) -> str:
    """A heading of one line, whatever the words hold, with a blank line behind it."""
    return f"{'#' * level} {_one_line(words)}\n\n"


def _section(message: Message) -> str:
    when = f" — {message.timestamp.isoformat()}" if message.timestamp else ""
    return f"{heading(message.author + when, 2)}{_contain(message.text)}\n\n"


def _one_line(words: str) -> str:
    r"""Joined lines; `#` at the end are part of the words, not the end of the heading."""
    return _CLOSING_MARKS.sub(r"\\", " ".join(words.split()))


def _contain(text: str) -> str:
    lines = "\n".join(NEWLINE.split(text))
    said = _BLANK_LINES.sub("", lines).rstrip()
    if _LIST_MARKS.fullmatch(said):
        return f"```\n{said}\n```"
    return said if _keeps_to_itself(said) else quote_block(said)


def _keeps_to_itself(text: str) -> bool:
    if not _STRUCTURE.search(text):
        return True
    # Beside a very long line no table is read, and what was one may be a heading: both have to be harmless.
    return all(_is_one_section(each) for each in dict.fromkeys((text, text.replace("|", "¦"))))


def _is_one_section(text: str) -> bool:
    framed = f"{_FRAME}{text}\n\n{_FRAME}"
    headings = [block.start for block in blocks(framed) if block.kind == "heading"]
    return headings == [0, len(framed) - len(_FRAME)]


def _notes(blank: Sequence[int]) -> tuple[str, ...]:
    if not blank:
        return ()
    named = ", ".join(map(str, blank[:_MAX_NAMED])) + (" and more" if len(blank) > _MAX_NAMED else "")
    were = "1 blank message was" if len(blank) == 1 else f"{len(blank)} blank messages were"
    return (f"{were} left out: number {named}",)
