from __future__ import annotations

import io
import struct
import zipfile

import pytest

from kg_api.convert.shared.containers import MAX_ENTRIES, open_archive, read_entry
from kg_api.errors import UnreadableDocument


def packed(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


GOOD = packed({"a.xml": b"<a>words</a>" * 50, "b.xml": b"<b/>"})


@pytest.mark.parametrize("at", range(0, len(GOOD), 3))
@pytest.mark.parametrize("change", [b"\xff\xff", b"\x00", b"\x01\x09"])
def test_damaged_archive_is_rejected(at: int, change: bytes) -> None:
    data = GOOD[:at] + change + GOOD[at + len(change) :]
    try:
        archive = open_archive(data, "a book")
        for name in archive.namelist():
            read_entry(archive, name)
    except UnreadableDocument as refused:
        assert len(str(refused)) > 20  # noqa: PT017 - most changes do no harm


def test_directory_outside_the_archive_is_rejected() -> None:
    end = GOOD.rindex(b"PK\x05\x06") + 16
    moved = GOOD[:end] + struct.pack("<I", 5_000_000) + GOOD[end + 4 :]
    with pytest.raises(UnreadableDocument):
        read_entry(open_archive(moved, "a book"), "a.xml")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (packed({"a": bytes(20_000_000)}), "ZIP bomb"),
        (packed({str(number): b"" for number in range(MAX_ENTRIES + 1)}), "entries"),
        (packed({"x": b""}), "a.xml is missing"),
        (b"\xd0\xcf\x11\xe0" + bytes(99), "without a password"),
        (b"", "empty"),
        (b"words", "not a book"),
    ],
    ids=["ratio", "entries", "kind", "office", "empty", "text"],
)
def test_invalid_archive_is_rejected_with_reason(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableDocument, match=why):
        open_archive(data, "a book", needs="a.xml")
