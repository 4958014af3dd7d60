"""Images in addresses of a Markdown text are images, and no words of it."""

from __future__ import annotations

import base64

import pytest

from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming
from kg_api.text.linked_files import take_inline_images
from tests.support.images import drawn, encoded
from tests.support.picture_store import InThisProcess

BOAT = encoded(drawn(64, 48))
ADDRESS = f"data:image/png;base64,{base64.b64encode(BOAT).decode()}"
TAKEN = "images in addresses were taken out of the text (1)"


@pytest.mark.parametrize(
    ("source", "images", "notes"),
    [
        (f"![A boat]({ADDRESS})", 1, (TAKEN,)),
        (f'<img alt="A boat" src="{ADDRESS}">', 1, (TAKEN,)),
        (f"![A boat][boat]\n\n[boat]: {ADDRESS}", 1, (TAKEN,)),
        (f"See ![A boat]({ADDRESS}) here", 0, (TAKEN, "left out: pictures within sentences and tables (1)")),
        (
            "![A boat](data:image/svg+xml,%3Csvg%3E)",
            0,
            (TAKEN, "left out: pictures of other kinds than are read, or damaged (1)"),
        ),
    ],
    ids=["alone", "tag", "definition", "sentence", "drawing"],
)
def test_image_in_address_is_image_or_note(source: str, images: int, notes: tuple[str, ...]) -> None:
    text = f"Before.\n\n{source}\n\nAfter 5.\n"
    read, told = (
        DocumentReader(InThisProcess()).looking().from_bytes(text.encode(), Incoming("n", "a.md", ""))
    )
    assert "base64" not in read.text
    assert "A boat" in read.text
    assert read.text.endswith("After 5.\n")
    assert (len(read.images), told) == (images, notes)


def test_sent_text_keeps_no_image_bytes() -> None:
    reader = DocumentReader(InThisProcess()).looking()
    read, told = reader.from_text(Incoming("n", "a.md", f"![A boat]({ADDRESS})\n\nAfter 5.\n"))
    assert (read.text.startswith("![A boat](inline-"), told) == (True, (TAKEN,))


@pytest.mark.parametrize(
    "text",
    [f"```\n![A boat]({ADDRESS})\n```\n", f"`![x]({ADDRESS})`\n", f"Write {ADDRESS[:40]}\n", "data:\n"],
)
def test_addresses_shown_as_text_stay(text: str) -> None:
    assert take_inline_images(text) == (text, {})
