from collections.abc import Callable
from typing import Any, cast

import pytest

from kg_api.convert.isolated.pool import ConverterPool
from kg_api.convert.shared.containers import (
    MAX_ENTRIES,
    iterate_xml,
    open_archive,
    open_office,
    parse_date,
    read_entry,
    read_xml,
)
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.settings import ConversionSettings
from tests.support.hostile_files import packed

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


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (packed({"a": bytes(20_000_000)}), "ZIP bomb"),
        (packed({str(number): b"" for number in range(MAX_ENTRIES + 1)}), "entries"),
        (packed({"x": b""}), "a.xml is missing"),
        (b"PK\x01\x02" * (10 * MAX_ENTRIES + 1), "entries"),
        (b"\xd0\xcf\x11\xe0" + bytes(99), "without a password"),
        (b"", "empty"),
        (b"words", "not a book"),
    ],
    ids=["ratio", "entries", "kind", "records", "office", "empty", "text"],
)
def test_invalid_archive_is_rejected_with_reason(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableDocument, match=why):
        open_archive(data, "a book", needs="a.xml")


HOSTILE = '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
READERS: dict[str, Callable[[bytes], object]] = {
    "tree": lambda data: read_xml(data, "a.xml"),
    "events": lambda data: list(iterate_xml(data, "a.xml")),
    "office": lambda data: open_office(packed({"a.xml": data}), "a book", needs="a.xml"),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("reader", READERS)
def test_xml_with_entities_is_rejected(reader: str, encoding: str) -> None:
    with pytest.raises(UnreadableDocument, match=r"defines entities|has a document type"):
        READERS[reader](HOSTILE.encode(encoding))


def test_damaged_xml_is_rejected() -> None:
    with pytest.raises(UnreadableDocument, match=r"a\.xml in the file is damaged"):
        list(iterate_xml(b"<a><b>", "a.xml"))


@pytest.mark.parametrize(
    ("text", "date"),
    [("2024", "2024"), ("2024-05", "2024-05"), ("5 Mar 2024 10:00 +0100", "2024-03-05T10:00:00+01:00")],
)
def test_date_of_any_precision_is_read(text: str, date: str) -> None:
    assert parse_date(text) == date


class Recorded:
    """Process that closes its pool while it converts."""

    is_usable = True
    ended = False
    pool: ConverterPool

    def ask(self, *_: object) -> Converted:
        self.pool.close()
        return Converted("text")

    def end(self) -> None:
        self.ended = True


def test_process_busy_at_close_ends_after_its_file() -> None:
    process = Recorded()
    process.pool = ConverterPool(ConversionSettings(), lambda _: cast("Any", process))
    assert process.pool.convert(b"fine", "html").text == "text"
    assert process.ended
