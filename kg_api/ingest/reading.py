"""From what is sent, text or a file of any kind, to a document's text and what the file says of itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Literal, Protocol, cast

from kg_api.convert.program.languages import SUFFIXES
from kg_api.errors import UnreadableDocument
from kg_api.images.keeping import ImageKeeper, LookingKeeper
from kg_api.ingest.images import place_images, with_words
from kg_api.ingest.records import Incoming
from kg_api.models.library.conversion import Converted
from kg_api.models.library.formats import CONVERTED, IN_TEXT, ConvertedFormat, Format, OcrMode
from kg_api.models.library.parsing import CodeScope
from kg_api.parse.beside.inline import take_inline_images
from kg_api.parse.beside.naming import references_of
from kg_api.parse.beside.references import count_elsewhere, references
from kg_api.parse.decode import check_text, decode
from kg_api.parse.documents import format_of

Notes = tuple[str, ...]
"""What a person should see."""

_SHOWN, _MAX_SHOWN = 3, 100
"""Names in a note, and the characters of each."""


class Converters(Protocol):
    """What reads files that may be hostile. Each method raises UnreadableDocument where it cannot."""

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        """Make Markdown of a file."""
        ...

    def convert_with(
        self, data: bytes, form: Literal["html", "markdown"], beside: Mapping[str, bytes]
    ) -> Converted:
        """Make Markdown of a page, or find places in a Markdown text; pictures by their references."""
        ...

    def pictures_read_by(self) -> str:
        """What reads pages that are pictures, as one word: another one may read more of the same file."""
        ...

    def find_scopes(self, data: bytes, suffix: str) -> Sequence[CodeScope]:
        """Find the functions and classes of a program."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads text as it is, and converts what is no plain text."""

    converters: Converters
    images: ImageKeeper = field(default_factory=LookingKeeper)
    """Keeps the pictures of what is read."""
    keep_pdfs: bool = False
    """Whether PDFs are kept as they came, for their pages to be shown."""

    def pdfs_read_by(self) -> str:
        """What becomes of a PDF, as one word: by another one, more becomes of the same file."""
        return self.converters.pictures_read_by() + ("+original" if self.keep_pdfs else "")

    def looking(self) -> DocumentReader:
        """The same reader, which keeps nothing."""
        return replace(self, images=LookingKeeper())

    def from_bytes(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> tuple[Incoming, Notes]:
        """Read a file; `incoming.text` is replaced by what it says.

        Args:
            content: the file's.
            incoming: what is known of it.
            beside: pictures that it names, by their references as `key_of` gives them.

        Raises:
            UnreadableDocument: it is neither text in a known encoding nor of a kind that is read.
        """
        form = format_of(incoming.document, incoming.format, content)
        files = beside or {}
        if form in CONVERTED:
            read, notes = self._converted(content, replace(incoming, format=form), files)
            other = _named_otherwise(incoming, form)
            return read, (*other, *notes, *_missing(references_of(content, form), files))
        text, notes = decode(content)
        if form == "markdown":
            read, more = self._markdown(replace(incoming, text=text), files)
            return read, (*notes, *more, *_missing(references(text, form), files), *_elsewhere(text))
        read, more = self._program(replace(incoming, text=text))
        return read, (*notes, *more)

    def from_text(self, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Read a document that was sent as text: HTML and the like are converted.

        Raises:
            UnreadableDocument: a file of its kind is no text.
        """
        form = format_of(incoming.document, incoming.format)
        if form == "markdown":
            text, inline = take_inline_images(incoming.text)
            return replace(incoming, text=text), (*_elsewhere(text), *_inline(len(inline)))
        if form not in CONVERTED:
            return self._program(incoming)
        if form not in IN_TEXT:
            raise UnreadableDocument(
                f"a file of the kind {form} is no text: send the file itself, by `kg ingest FILE` or as "
                "multipart/form-data; or name its format, such as markdown, if this is the text of it"
            )
        content = ("\ufeff" + check_text(incoming.text)).encode()  # whatever it says of its own encoding
        return self._converted(content, replace(incoming, format=form))

    def _converted(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> tuple[Incoming, Notes]:
        if incoming.format == "html" and beside:
            made = self.converters.convert_with(content, "html", beside)
        else:
            made = self.converters.convert(content, cast("ConvertedFormat", incoming.format), incoming.ocr)
        if incoming.format == "image":
            made = with_words(made, incoming.document, incoming.title, incoming.metadata)
        original = content if self.keep_pdfs and incoming.format == "pdf" else None
        kept = self.images.keep([each.image for each in made.images], original)
        given = {**made.metadata, **incoming.metadata}
        read = replace(
            incoming,
            text=made.text,
            own_title=made.title,
            metadata=given,
            pages=tuple(made.pages),
            words=tuple(made.words),
            images=place_images(made.images, kept.images),
            original=kept.original,
            hold=kept.hold,
        )
        return read, made.notes

    def _markdown(self, incoming: Incoming, beside: Mapping[str, bytes]) -> tuple[Incoming, Notes]:
        """Its text stays, but for images in addresses; the converting process only finds places of images."""
        text, inline = take_inline_images(incoming.text)
        files, notes = {**beside, **inline}, _inline(len(inline))
        if not files:
            return incoming, ()
        incoming = replace(incoming, text=text)
        try:
            made = self.converters.convert_with(check_text(text).encode(), "markdown", files)
        except UnreadableDocument as error:
            return incoming, (*notes, f"its pictures were not taken: {error}")
        kept = self.images.keep([each.image for each in made.images])
        read = replace(incoming, images=place_images(made.images, kept.images), hold=kept.hold)
        return read, (*notes, *made.notes)

    def _program(self, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Find the functions and classes of a program; without them it is read by its blank lines."""
        suffix = PurePath(incoming.document).suffix.lower().removeprefix(".")
        if suffix not in SUFFIXES or incoming.format not in {None, "text"}:
            return incoming, ()
        try:
            scopes = self.converters.find_scopes(check_text(incoming.text).encode(), suffix)
        except UnreadableDocument as error:
            return incoming, (f"its functions and classes were not told apart: {error}",)
        return replace(incoming, scopes=tuple(scopes)), ()


def _named_otherwise(incoming: Incoming, form: Format) -> Notes:
    """What is told of a file whose name says that it is something else."""
    named = PurePath(incoming.document).suffix.lower() in CONVERTED[cast("ConvertedFormat", form)]
    kind = {"pdf": "a PDF", "image": "a picture"}.get(form)
    return () if named or incoming.format or not kind else (f"read as {kind}, whatever its name says",)


def _elsewhere(text: str) -> Notes:
    """What is told of pictures that a Markdown text shows from a network."""
    count = count_elsewhere(text)
    return (f"pictures at addresses are not fetched ({count:,})",) if count else ()


def _inline(count: int) -> Notes:
    return (f"images in addresses were taken out of the text ({count:,})",) if count else ()


def _missing(named: Sequence[str], beside: Collection[str]) -> Notes:
    """What is told of pictures that a document names and that did not come with it."""
    missing = [each for each in named if each not in beside]
    shown = ", ".join(each[-_MAX_SHOWN:] for each in missing[:_SHOWN]) + (
        ", ..." if len(missing) > _SHOWN else ""
    )
    return (
        (f"pictures that it names and that did not come with it ({len(missing):,}): {shown}",)
        if missing
        else ()
    )
