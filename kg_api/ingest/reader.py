"""Readers: convert files of any format to document text and metadata."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import PurePath
from typing import Final, Literal, Protocol, cast

from kg_api import __version__
from kg_api.blobs.images import ImageKeeper
from kg_api.errors import UnreadableDocument
from kg_api.ingest.records import Incoming
from kg_api.schemas.base import digest
from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import CONVERTED, IN_TEXT, ConvertedFormat, OcrMode
from kg_api.schemas.images import FoundImage, PlacedImage, StoredImage
from kg_api.schemas.metadata import MetadataValue
from kg_api.text.decoding import check_text, decode
from kg_api.text.documents import detect_format
from kg_api.text.linked_files import count_remote_images, list_references, references, take_inline_images
from kg_api.text.sources import SPLITTER_VERSION

Notes = tuple[str, ...]

_SHOWN, _MAX_SHOWN = 3, 100  # maximum names in a note, and maximum characters per name
_BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")
_SUFFIX = re.compile(r"\.\w{1,5}$")
SAYING: Final = ("description", "caption")


class Converters(Protocol):
    """Readers for untrusted files. Each method raises UnreadableDocument for an unreadable file."""

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted: ...

    def convert_with(
        self, data: bytes, form: Literal["html", "markdown"], beside: Mapping[str, bytes]
    ) -> Converted:
        """Convert a page to Markdown, or locate the images in a Markdown text."""
        ...

    def get_ocr_fingerprint(self) -> str:
        """Get the name of the OCR engine. Another engine may recognize more text in the same file."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reads plain text and converts all other formats."""

    converters: Converters
    images: ImageKeeper = field(default_factory=ImageKeeper)
    keep_pdfs: bool = False  # store original PDFs, so that their pages can be shown

    def pdfs_read_by(self) -> str:
        """Return a key that changes if kg would read the same PDF differently."""
        return self.converters.get_ocr_fingerprint() + ("+original" if self.keep_pdfs else "")

    def looking(self) -> DocumentReader:
        return replace(self, images=ImageKeeper())

    def hash_sent(self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes]) -> str:
        """Return a hash of a sent file and of everything else that decides how kg reads it."""
        about = asdict(replace(incoming, review=False))
        files = ((name, hashlib.sha256(each).hexdigest()) for name, each in sorted(beside.items()))
        return digest(
            f"{SPLITTER_VERSION}:{__version__}",
            self.pdfs_read_by(),
            json.dumps(about, sort_keys=True),
            hashlib.sha256(content).hexdigest(),
            *chain.from_iterable(files),
        )

    def from_bytes(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> tuple[Incoming, Notes]:
        """Read a file. Its text replaces `incoming.text`."""
        form = detect_format(incoming.document, incoming.format, content)
        files = beside or {}
        if form in CONVERTED:
            read, notes = self._convert(content, replace(incoming, format=form), files)
            kind = {"pdf": "a PDF", "image": "a picture"}.get(form)
            named = PurePath(incoming.document).suffix.lower() in CONVERTED[cast("ConvertedFormat", form)]
            if kind and not named and not incoming.format:
                notes = (f"read as {kind}, although the extension differs", *notes)
            return read, (*notes, *_missing(list_references(content, form), files))
        text, notes = decode(content)
        if form == "markdown":
            read, more = self._markdown(replace(incoming, text=text), files)
            return read, (*notes, *more, *_missing(references(text, form), files), *_note_remote_images(text))
        return replace(incoming, text=text), notes

    def read_sent_text(self, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Read a document sent as text. HTML and similar formats are converted."""
        form = detect_format(incoming.document, incoming.format)
        if form == "markdown":
            text, inline = take_inline_images(incoming.text)
            return replace(incoming, text=text), (*_note_remote_images(text), *_inline(len(inline)))
        if form not in CONVERTED:
            return incoming, ()
        if form not in IN_TEXT:
            raise UnreadableDocument(
                f"a file of the kind {form} is not text. Send the file itself, by `kg ingest FILE` or "
                "as multipart/form-data. If this is its text, set a text format such as markdown"
            )
        # The byte order mark overrides an encoding declared in the page.
        content = ("\ufeff" + check_text(incoming.text)).encode()
        return self._convert(content, replace(incoming, format=form))

    def _convert(
        self, content: bytes, incoming: Incoming, beside: Mapping[str, bytes] | None = None
    ) -> tuple[Incoming, Notes]:
        if incoming.format == "html" and beside:
            made = self.converters.convert_with(content, "html", beside)
        else:
            made = self.converters.convert(content, cast("ConvertedFormat", incoming.format), incoming.ocr)
        if incoming.format == "image":
            made = add_search_text(made, incoming.document, incoming.title, incoming.metadata)
        original = content if self.keep_pdfs and incoming.format == "pdf" else None
        kept = self.images.keep([each.image for each in made.images], original)
        read = replace(
            incoming,
            text=made.text,
            own_title=made.title,
            metadata={**made.metadata, **incoming.metadata},
            pages=tuple(made.pages),
            words=tuple(made.words),
            images=place_images(made.images, kept.images),
            original=kept.original,
            hold=kept.hold,
        )
        return read, made.notes

    def _markdown(self, incoming: Incoming, beside: Mapping[str, bytes]) -> tuple[Incoming, Notes]:
        """Keep the text except for images in data URLs. The converter only locates images."""
        text, inline = take_inline_images(incoming.text)
        files, notes = {**beside, **inline}, _inline(len(inline))
        if not files:
            return incoming, ()
        incoming = replace(incoming, text=text)
        try:
            made = self.converters.convert_with(check_text(text).encode(), "markdown", files)
        except UnreadableDocument as error:
            return incoming, (*notes, f"the images were skipped: {error}")
        kept = self.images.keep([each.image for each in made.images])
        read = replace(incoming, images=place_images(made.images, kept.images), hold=kept.hold)
        return read, (*notes, *made.notes)


def place_images(found: Sequence[FoundImage], stored: Sequence[StoredImage]) -> tuple[PlacedImage, ...]:
    """Combine images with their stored files."""
    both = zip(found, stored, strict=True)
    return tuple(PlacedImage(each.start, each.end, image, each.image.original_hash) for each, image in both)


def add_search_text(
    made: Converted, document: str, title: str | None, metadata: Mapping[str, MetadataValue]
) -> Converted:
    """Put name, title, description, and caption first: `2019/RedBoat_02.jpg` adds `2019 Red Boat 02`."""
    name = " ".join(_BETWEEN_WORDS.sub(" ", _SUFFIX.sub("", document)).split()) or document
    values = [title, *(metadata.get(key) for key in SAYING)]
    lines = [" ".join(each.split()) for each in values if isinstance(each, str)]
    own = {*made.text.splitlines()}
    search_lines = dict.fromkeys([name, *(line for line in lines if line not in own)])
    text = "\n".join(filter(None, (*search_lines, made.text)))
    return replace(made, text=text, images=tuple(replace(each, end=len(text)) for each in made.images))


def _note_remote_images(text: str) -> Notes:
    count = count_remote_images(text)
    return (f"images at URLs are not downloaded ({count:,})",) if count else ()


def _inline(count: int) -> Notes:
    return (f"images in data URLs are not stored as text ({count:,})",) if count else ()


def _missing(named: Sequence[str], beside: Collection[str]) -> Notes:
    missing = [each for each in named if each not in beside]
    if not missing:
        return ()
    listed = ", ".join(each[-_MAX_SHOWN:] for each in missing[:_SHOWN])
    more = ", ..." if len(missing) > _SHOWN else ""
    return (f"referenced images that are missing ({len(missing):,}): {listed}{more}",)
