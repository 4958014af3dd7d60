"""Readers: convert files of any format to document text and metadata."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import Final, Protocol, cast

from kg_api import __version__
from kg_api.blobs.images import ImageKeeper
from kg_api.errors import UnreadableDocument
from kg_api.ingest.records import Incoming
from kg_api.schemas.base import compute_digest, separate_words
from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import CONVERTED, IN_TEXT, ConvertedFormat, Format, OcrMode
from kg_api.schemas.images import FoundImage, PlacedImage, StoredImage
from kg_api.schemas.metadata import MetadataValue
from kg_api.text.decoding import (
    check_text,
    decode,
    decode_json_escapes,
    decode_xml_references,
    remove_terminal_codes,
)
from kg_api.text.documents import detect_format
from kg_api.text.image_references import take_inline_images
from kg_api.text.sources import SPLITTER_VERSION

Notes = tuple[str, ...]

_BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)")
_SUFFIX = re.compile(r"\.\w{1,5}$")
SEARCHED_METADATA: Final = ("description", "caption")


class Converters(Protocol):
    """Readers for untrusted files. Each method raises UnreadableDocument for an unreadable file."""

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted: ...

    def get_ocr_fingerprint(self) -> str:
        """Get the name of the OCR engine. A different engine may recognize other text in the same file."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """Reader of plain text that converts all other formats."""

    converters: Converters
    images: ImageKeeper = field(default_factory=ImageKeeper)
    keep_pdfs: bool = False  # store original PDFs, so that their pages can be shown

    def get_pdf_key(self) -> str:
        """Return a key that changes if kg would read the same PDF differently."""
        return self.converters.get_ocr_fingerprint() + ("+original" if self.keep_pdfs else "")

    def for_previews(self) -> DocumentReader:
        """Return a reader for previews, which stores no images."""
        return replace(self, images=ImageKeeper())

    def hash_sent(self, content: bytes, incoming: Incoming) -> str:
        """Return a hash of an uploaded file and of everything that changes how kg reads the file."""
        return compute_digest(
            f"{SPLITTER_VERSION}:{__version__}",
            self.get_pdf_key(),
            json.dumps(asdict(replace(incoming, review=False)), sort_keys=True),
            hashlib.sha256(content).hexdigest(),
        )

    def from_bytes(self, content: bytes, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Read a file. Its text replaces `incoming.text`."""
        detected = detect_format(incoming.document, incoming.format, content)
        if detected in CONVERTED:
            document, notes = self._convert(content, replace(incoming, format=detected))
            kind = {"pdf": "a PDF", "image": "an image"}.get(detected)
            has_usual_extension = (
                PurePath(incoming.document).suffix.lower() in CONVERTED[cast("ConvertedFormat", detected)]
            )
            if kind and not has_usual_extension and not incoming.format:
                notes = (f"read as {kind}, although the extension differs", *notes)
            return document, notes
        text, notes = decode(content)
        text, more = _clean(text, incoming.document, detected)
        return replace(incoming, text=text), (*notes, *more)

    def read_sent_text(self, incoming: Incoming) -> tuple[Incoming, Notes]:
        """Read a document sent as text. HTML and similar formats are converted."""
        form = detect_format(incoming.document, incoming.format)
        if form not in CONVERTED:
            text, notes = _clean(incoming.text, incoming.document, form)
            return replace(incoming, text=text), notes
        if form not in IN_TEXT:
            raise UnreadableDocument(
                f"a {form} document cannot be sent as text. Send the file with `kg ingest FILE` or "
                "as multipart/form-data. If you already have its text, set a text format such as markdown"
            )
        # The byte order mark overrides an encoding declared in the page.
        content = ("\ufeff" + check_text(incoming.text)).encode()
        return self._convert(content, replace(incoming, format=form))

    def _convert(self, content: bytes, incoming: Incoming) -> tuple[Incoming, Notes]:
        converted = self.converters.convert(content, cast("ConvertedFormat", incoming.format), incoming.ocr)
        if incoming.format == "image":
            converted = add_search_text(converted, incoming.document, incoming.title, incoming.metadata)
        original = content if self.keep_pdfs and incoming.format == "pdf" else None
        stored = self.images.keep([placed.image for placed in converted.images], original)
        document = replace(
            incoming,
            text=converted.text,
            own_title=converted.title,
            metadata={**converted.metadata, **incoming.metadata},
            pages=tuple(converted.pages),
            words=tuple(converted.words),
            images=place_images(converted.images, stored.images),
            original=stored.original,
            hold=stored.hold,
        )
        return document, converted.notes


def place_images(found: Sequence[FoundImage], stored: Sequence[StoredImage]) -> tuple[PlacedImage, ...]:
    """Combine images with their stored files."""
    pairs = zip(found, stored, strict=True)
    return tuple(
        PlacedImage(place.start, place.end, file, place.image.original_hash) for place, file in pairs
    )


def add_search_text(
    made: Converted, document: str, title: str | None, metadata: Mapping[str, MetadataValue]
) -> Converted:
    """Add the name, title, description, and caption before the text of an image.

    The name `2019/RedBoat_02.jpg` becomes `2019 Red Boat 02`.
    """
    name = " ".join(separate_words(_BETWEEN_WORDS, _SUFFIX.sub("", document)).split()) or document
    values = [title, *(metadata.get(key) for key in SEARCHED_METADATA)]
    lines = [" ".join(value.split()) for value in values if isinstance(value, str)]
    text_lines = {*made.text.splitlines()}
    search_lines = dict.fromkeys([name, *(line for line in lines if line not in text_lines)])
    text = "\n".join(filter(None, (*search_lines, made.text)))
    return replace(made, text=text, images=tuple(replace(image, end=len(text)) for image in made.images))


def _clean(text: str, name: str, form: Format) -> tuple[str, Notes]:
    """Remove the images in data URLs of Markdown, with a note, and decode escapes of other text."""
    if form == "markdown":
        text, removed = take_inline_images(text)
        return text, (f"images in data URLs were removed from the text ({removed:,})",) if removed else ()
    text, suffix = remove_terminal_codes(text), PurePath(name).suffix.lower()
    if suffix == ".xml":
        return decode_xml_references(text), ()
    return decode_json_escapes(text) if suffix in {".json", ".jsonl"} else text, ()
