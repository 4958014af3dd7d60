"""Conversations: messages that become one document."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator, Field, StringConstraints

from kg_api.models.base import VISIBLE, Body, DocumentName, OntologyName, Text
from kg_api.models.library.metadata import Metadata

MAX_MESSAGES = 10_000
MAX_AUTHOR = 200
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d")


def _is_written_out(value: Any) -> Any:
    """Refuse numbers: whether they are seconds, milliseconds or a year, nobody can tell."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE_AND_TIME.match(value)):
        return value
    raise ValueError("is no date and time as ISO 8601 has it, such as 2026-03-01T09:30:00+01:00")


Author = Annotated[Text, StringConstraints(min_length=1, max_length=MAX_AUTHOR), *VISIBLE]
Timestamp = Annotated[AwareDatetime, BeforeValidator(_is_written_out)]
"""With its zone: a time without one is another moment elsewhere."""


class Message(Body):
    """What somebody said."""

    author: Author
    timestamp: Timestamp | None = None
    """When, as ISO 8601 with a zone; it is written into the document as it is given."""
    text: Text
    """Any text, Markdown or not. Its headings do not become headings of the document."""


Messages = Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
"""In the order in which they were said."""


class Conversation(Body):
    """Messages that are stored as one Markdown document."""

    ontology: OntologyName
    title: Annotated[DocumentName, *VISIBLE]
    """The document's title and name; the same again replaces it, and only new messages are embedded."""
    messages: Messages
    metadata: Metadata = Field(default_factory=dict)
