"""Hostile files in the converter process: HARDENING 51-54 and 58-63.

Request bodies (49, 50) are in `tests/service/test_bodies.py`, images (55-57) in
`test_hardening_images.py`, plain text (5, 62) in `tests/unit/parse/test_hostile.py`, and file names
(61) in `tests/service/test_bad_inputs_stored.py`.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import cast

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption

from kg_api.convert.isolated.pool import ConverterPool
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import ConvertedFormat
from kg_api.settings import ConversionSettings
from tests.support import hostile_files as hostile
from tests.unit.convert.pdf.files import drawn, lines
from tests.unit.convert.test_docx_text import document
from tests.unit.convert.test_epub import book
from tests.unit.convert.test_pptx_text import presentation
from tests.unit.convert.test_spreadsheet import ROWS, cell, row, sheet_of, workbook

CPU_SECONDS, MEMORY_MB = 20, 600
"""Limit for the cost of any of these files. It is several times as high as the measured cost."""

GOOD = {
    "docx": document(),
    "pptx": presentation(),
    "xlsx": workbook({"Tea": ROWS}),
    "ods": sheet_of(row(cell("<text:p>Kettle</text:p>", 'office:value-type="string"'))),
    "epub": book(),
}
PARTS = {
    "docx": "word/document.xml",
    "pptx": "ppt/slides/slide1.xml",
    "xlsx": "xl/sharedStrings.xml",
    "ods": "content.xml",
    "epub": "OEBPS/book.opf",
}
WORDS = {"docx": "Boiling", "pptx": "Boiling", "xlsx": "Kettle", "ods": "Kettle", "epub": "chapter"}
FORMS = cast("dict[str, ConvertedFormat]", {"xlsx": "spreadsheet", "ods": "spreadsheet"})
ZERO_WIDTH = ("\u200b" * 10_000).encode()
TEN_MB = b"word " * 2_000_000
TAKEN = "/tmp/kg-slip"  # noqa: S108
SLIP: dict[str, str | bytes] = dict.fromkeys((f"../../../..{TAKEN}", TAKEN, "..\\..\\kg-slip"), b"taken")


@dataclass(frozen=True)
class Bad:
    """File with the words to expect in the error or in the text."""

    item: str
    form: ConvertedFormat
    make: Callable[[], bytes]
    refused: str = ""
    read: str = ""


def archives() -> Iterator[Bad]:
    for kind, good in GOOD.items():
        form: ConvertedFormat = FORMS.get(kind) or cast("ConvertedFormat", kind)
        part, needed, words = PARTS[kind], hostile.NEEDED[kind], WORDS[kind]
        bomb = {"media/blank": bytes(60_000_000)}
        yield Bad(f"51 bomb {kind}", form, lambda g=good, b=bomb: hostile.replaced(g, b), "ZIP bomb")
        yield Bad(f"51 overlap {kind}", form, lambda n=needed: hostile.overlapping(n), "unpacks to")
        inner = {"media/inner.zip": hostile.nested()}
        yield Bad(f"52 nested {kind}", form, lambda g=good, i=inner: hostile.replaced(g, i), read=words)
        yield Bad(
            f"52 entries {kind}", form, lambda n=needed: hostile.crowded(n), "entries, more than 10,000"
        )
        yield Bad(f"53 slip {kind}", form, lambda g=good: hostile.replaced(g, SLIP), read=words)
        for name, xml in (("laughs", hostile.LAUGHS), ("external", hostile.EXTERNAL)):
            change = {part: xml}
            yield Bad(
                f"54 {name} {kind}", form, lambda g=good, c=change: hostile.replaced(g, c), "in the file"
            )
        yield Bad(f"59 cut {kind}", form, lambda g=good: g[: len(g) * 2 // 3], "damaged")
        yield Bad(f"59 empty {kind}", form, bytes, "empty")


OTHERS = (
    Bad("54 laughs html", "html", hostile.LAUGHS.encode, read="&i;"),
    Bad("60 encrypted", "pdf", lambda: drawn(lines("Secret"), encrypt=StandardEncryption("w")), "save it"),
    Bad("60 loops", "pdf", hostile.pdf_of_loops, "no text"),
    Bad(
        "60 script",
        "pdf",
        lambda: hostile.pdf_of_pages(1, "/OpenAction << /S /JavaScript /JS (while\\(1\\){}) >>"),
        read="Some words of a page",
    ),
    Bad("59 cut pdf", "pdf", lambda: drawn(lines("Words"))[:400], "PDF"),
    Bad("62 zero-width html", "html", lambda: b"<p>" + ZERO_WIDTH + b"</p>", "no text"),
    Bad("62 zero-width csv", "csv", lambda: ZERO_WIDTH, "no values"),
    Bad("62 line html", "html", lambda: b"<p>" + TEN_MB, read="word word"),
    Bad("62 line csv", "csv", lambda: TEN_MB.replace(b" ", b","), "cells. Split the file"),
    Bad("62 line eml", "email", lambda: b"From: a@b.example\nSubject: x\n\n" + TEN_MB, read="word word"),
    Bad("62 headings", "html", lambda: b"<h2>h</h2>" * 100_000, read="## h\n\n## h"),
    Bad("63 html", "html", lambda: "<p>é".encode() + "<p>naïve</p>".encode("latin-1"), read="naïve"),
    Bad("63 csv", "csv", lambda: "a,é\n".encode() + "b,naïve\n".encode("latin-1"), read="naïve"),
)


@pytest.fixture(scope="module")
def pool() -> Iterator[ConverterPool]:
    made = ConverterPool(ConversionSettings(processes=1, max_seconds=120, max_memory_mb=1024))
    yield made
    made.close()


def peak_mb(pid: int) -> int:
    """Return the peak memory of the process. This includes the files that were read before."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) // 2**10


def outcome(pool: ConverterPool, bad: Bad) -> Converted | str:
    try:
        return pool.convert(bad.make(), bad.form)
    except UnreadableDocument as refused:
        return str(refused)


@pytest.mark.parametrize("bad", [*archives(), *OTHERS], ids=lambda bad: bad.item.replace(" ", "-"))
def test_hostile_file_is_rejected_or_read_within_limits(pool: ConverterPool, bad: Bad) -> None:
    pool.convert(b"<p>fine</p>", "html")
    child = hostile.newest_reader()
    before = sum(child.cpu_times()[:2])
    done = outcome(pool, bad)
    assert sum(child.cpu_times()[:2]) - before < CPU_SECONDS, "or the process had to be ended"
    assert peak_mb(child.pid) < MEMORY_MB
    if isinstance(done, str):
        assert bad.refused, done
        assert bad.refused in done
    else:
        assert bad.read, done.text[:200]
        assert bad.read in done.text
        assert "root:x" not in done.text
        assert "taken" not in done.text


def test_53_nothing_is_unpacked_anywhere(pool: ConverterPool) -> None:
    for kind, good in GOOD.items():
        pool.convert(hostile.replaced(good, SLIP), FORMS.get(kind) or cast("ConvertedFormat", kind))
    assert not Path(TAKEN).exists()


def test_60_hundred_thousand_pages_end_at_time_limit() -> None:
    pool = ConverterPool(ConversionSettings(processes=1, max_seconds=2, max_memory_mb=1024))
    try:
        with pytest.raises(UnreadableDocument, match="KG_CONVERSION__MAX_SECONDS"):
            pool.convert(hostile.pdf_of_pages(100_000), "pdf")
    finally:
        pool.close()


@pytest.mark.parametrize("kind", ["html", "epub"])
def test_58_image_reference_causes_no_request(pool: ConverterPool, kind: str) -> None:
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)

    server = HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        svg = f'<p>Words</p><svg><script href="{address}/s">run()</script><image href="{address}/i"/></svg>'
        page = f"<html><body>{svg}</body></html>"
        chapter = {"OEBPS/text/two.xhtml": page, "OEBPS/cover.svg": svg}
        made = (
            pool.convert(page.encode(), "html")
            if kind == "html"
            else pool.convert(hostile.replaced(book(), chapter), "epub")
        )
    finally:
        server.shutdown()
        server.server_close()
    assert "Words" in made.text
    assert "run()" not in made.text
    assert not asked
