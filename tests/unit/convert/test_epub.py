from __future__ import annotations

import io
import zipfile

import pytest

from kg_api.convert.epub import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.gate import assert_in_order, assert_refuses_bad_bytes, kinds

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
PACKAGE = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Tea and water</dc:title>
<dc:creator>Ann Lee</dc:creator><dc:creator>Bob Ray</dc:creator><dc:date>2024-03-05</dc:date>
<dc:language>en</dc:language><dc:subject>tea</dc:subject>
</metadata><manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="a" href="text/one%20a.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="text/two.xhtml" media-type="application/xhtml+xml"/>
<item id="c" href="cover.svg" media-type="image/svg+xml"/><item id="d" href="gone.xhtml"/></manifest>
<spine><itemref idref="nav"/><itemref idref="b"/>
<itemref idref="c"/><itemref idref="a"/><itemref idref="b"/></spine>
</package>"""
CHAPTER = """<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head>
<body><section><header><h1>{}</h1></header><p>Words of <i>{}</i>&#160;chapter.</p>
<aside><p>A note.</p></aside></section></body></html>"""


def book(*, package: str = PACKAGE, more: dict[str, str | bytes] | None = None) -> bytes:
    out = io.BytesIO()
    entries: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": package,
        "OEBPS/nav.xhtml": "<nav>Contents</nav>",
        "OEBPS/cover.svg": '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>',
        "OEBPS/text/one a.xhtml": CHAPTER.format("Tea", "the last"),
        "OEBPS/text/two.xhtml": CHAPTER.format("Water", "the first"),
        **(more or {}),
    }
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_chapters_stand_once_in_the_order_of_the_spine() -> None:
    got = convert(book())
    assert got.text == (
        "# Water\n\nWords of the first chapter.\n\nA note.\n\n"
        "# Tea\n\nWords of the last chapter.\n\nA note.\n"
    )
    assert got.title == "Tea and water"
    assert got.metadata == {
        "author": ["Ann Lee", "Bob Ray"],
        "date": "2024-03-05",
        "language": "en",
        "tags": ["tea"],
    }
    assert (got.pages, got.notes) == ((), ())
    assert kinds(got.text) == ["heading", "paragraph", "paragraph"] * 2


def test_missing_chapters_are_counted() -> None:
    got = convert(book(package=PACKAGE.replace('idref="c"', 'idref="d"')))
    assert_in_order(got, ["Water", "Tea"])
    assert got.notes == ("left out: chapters that are missing or damaged (1)",)


def test_protected_books_are_refused_and_hidden_fonts_are_none() -> None:
    encryption = '<encryption><EncryptionMethod Algorithm="{}"/></encryption>'
    fonts = encryption.format("http://www.idpf.org/2008/embedding")
    assert convert(book(more={"META-INF/encryption.xml": fonts})).title
    protected = encryption.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    with pytest.raises(UnreadableDocument, match="DRM"):
        convert(book(more={"META-INF/encryption.xml": protected}))


def test_bad_bytes_are_refused() -> None:
    assert_refuses_bad_bytes(convert, book())


LAUGHS = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><package>&b;</package>'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (book(package=LAUGHS), "entities"),
        (book(package="<package/>"), "no text"),
        (book(more={"META-INF/container.xml": "<container/>"}), "names no list"),
        (book(more={"bomb": b" " * 20_000_000}), "ZIP bomb"),
        (book(more={str(number): b"" for number in range(10_001)}), "entries"),
    ],
    ids=["laughs", "empty", "container", "bomb", "entries"],
)
def test_hostile_books_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableDocument, match=why):
        convert(data)
