"""What is told of pages that are pictures and were not read, and of pictures that were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted
from kg_api.wording.pages import name_pages
from kg_api.wording.plural import was


def note_pictures(made: Converted, reason: str) -> Converted:
    """Add notes on pages without text, and with text that cannot be read.

    Args:
        made: what the file became.
        reason: why they were not read; empty: its notes say that.

    Raises:
        UnreadableDocument: no page has text.
    """
    if not made.text.strip():
        told = reason or "; ".join(made.notes)
        if made.unreadable:
            raise UnreadableDocument(
                "the fonts of the PDF do not say which letters its text is, and it was not read by OCR: "
                f"{told}; or run another OCR over it (ocrmypdf --force-ocr, for example), and add that file"
            )
        raise UnreadableDocument(
            f"the PDF has no text, it seems to be scanned, and it was not read by OCR: {told}; "
            "or run another OCR over it (ocrmypdf, for example), and add that file"
        )
    return replace(made, notes=(*made.notes, *_list_notes(made, reason)))


def _list_notes(made: Converted, reason: str) -> Iterator[str]:
    pictures = [number for number in made.pictures if number not in made.unreadable]
    if pictures:
        several = len(pictures) > 1
        has, scanned = ("have", "scanned pictures") if several else ("has", "a scanned picture")
        found = "they are not found" if several else "it is not found"
        told = f"{name_pages(pictures)} {has} no text ({scanned}?): {found}"
        yield f"{told}; {reason}" if reason else told
    if made.unreadable and reason:
        yield f"{name_pages(made.unreadable)} {was(len(made.unreadable))} not read by OCR: {reason}"


def with_words(made: Converted, read: Converted) -> Converted:
    """A picture that is a document of its own, with the words that OCR read on it.

    Args:
        made: what it says of itself; it is one picture.
        read: what OCR read.
    """
    text = "\n".join(filter(None, (made.text, read.text)))
    images = tuple(replace(each, end=len(text)) for each in made.images)
    return replace(made, text=text, images=images, notes=(*made.notes, *read.notes))
