"""From what is sent, text or a file of any kind, to a document's text and what the file says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from kg_api.errors import UnreadableDocument
from kg_api.ingest.records import Incoming
from kg_api.models.library.conversion import Converted
from kg_api.models.library.formats import CONVERTED, IN_TEXT, ConvertedFormat
from kg_api.parse.decode import check_text, decode
from kg_api.parse.documents import format_of

Convert = Callable[[bytes, ConvertedFormat], Converted]
"""Makes Markdown of a file; raises UnreadableDocument where it cannot."""
Notes = tuple[str, ...]
"""What a person should see."""


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads text as it is, and converts what is no plain text."""

    convert: Convert

    def from_bytes(self, content: bytes, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Read a file; `incoming.text` is replaced by what it says.

        Raises:
            UnreadableDocument: it is neither text in a known encoding nor of a kind that is read.
        """
        form = format_of(incoming.document, incoming.format, content)
        if form in CONVERTED:
            return self._converted(content, replace(incoming, format=form))
        text, notes = decode(content)
        return replace(incoming, text=text), notes

    def from_text(self, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Read a document that was sent as text: HTML and the like are converted.

        Raises:
            UnreadableDocument: a file of its kind is no text.
        """
        form = format_of(incoming.document, incoming.format)
        if form not in CONVERTED:
            return incoming, ()
        if form not in IN_TEXT:
            raise UnreadableDocument(
                f"a file of the kind {form} is no text: send the file itself, by `kg ingest FILE` or as "
                "multipart/form-data; or name its format, such as markdown, if this is the text of it"
            )
        content = ("\ufeff" + check_text(incoming.text)).encode()  # whatever it says of its own encoding
        return self._converted(content, replace(incoming, format=form))

    def _converted(self, content: bytes, incoming: Incoming) -> tuple[Incoming, Notes]:
        made = self.convert(content, cast("ConvertedFormat", incoming.format))
        given = {**made.metadata, **incoming.metadata}
        read = replace(
            incoming, text=made.text, own_title=made.title, metadata=given, pages=tuple(made.pages)
        )
        return read, made.notes
