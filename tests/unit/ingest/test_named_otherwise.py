"""A file is what it plainly is, and who named it otherwise is told."""

from __future__ import annotations

import pytest

from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming
from kg_api.schemas.formats import Format
from tests.support.images import drawn, encoded
from tests.support.picture_store import InThisProcess

TOLD = ("read as a picture, whatever its name says",)


@pytest.mark.parametrize(
    ("name", "form", "told"),
    [
        ("liar.txt", None, TOLD),
        ("photo", None, TOLD),
        ("photo.JPEG", None, ()),
        ("photo.pdf", None, TOLD),
        ("liar.txt", "image", ()),
    ],
)
def test_a_picture_by_another_name_is_told(name: str, form: Format | None, told: tuple[str, ...]) -> None:
    reader = DocumentReader(InThisProcess()).looking()
    read, notes = reader.from_bytes(encoded(drawn()), Incoming("notes", name, "", format=form))
    assert read.format == "image"
    assert notes == told
