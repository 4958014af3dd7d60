import pytest

from kg_api.convert.epub import convert
from kg_api.errors import UnreadableDocument
from tests.support.hostile_files import packed
from tests.unit.convert.gate import assert_in_order, kinds

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
    return packed(entries)


def test_chapters_follow_the_spine_without_repetition() -> None:
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


def test_chapter_without_text_is_not_missing() -> None:
    got = convert(book(more={"OEBPS/text/two.xhtml": "\n"}))
    assert got.text.startswith("# Tea")
    assert got.notes == ()


def test_missing_chapters_are_counted() -> None:
    got = convert(book(package=PACKAGE.replace('idref="c"', 'idref="d"')))
    assert_in_order(got, ["Water", "Tea"])
    assert got.notes == ("skipped: chapters that are missing or damaged (1)",)


def test_drm_is_rejected_and_obfuscated_fonts_are_not() -> None:
    encryption = '<encryption><EncryptionMethod Algorithm="{}"/></encryption>'
    fonts = encryption.format("http://www.idpf.org/2008/embedding")
    assert convert(book(more={"META-INF/encryption.xml": fonts})).title
    protected = encryption.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    with pytest.raises(UnreadableDocument, match="DRM"):
        convert(book(more={"META-INF/encryption.xml": protected}))


XHTML = (
    '<?xml version="1.0" encoding="{}"?><html xmlns="http://www.w3.org/1999/xhtml" '
    'xmlns:m="http://www.w3.org/1998/Math/MathML"><head><title/>'
    '<link rel="stylesheet" href="../look.css"/></head>'
    "<body>{}</body></html>"
)
BODY = (
    "<p>a<sup/> b<del/> 10<sup>6</sup>, 10<span class='up'>7</span>, <span class='gone'>499</span> 399, "
    "<m:math><m:msup><m:mn>10</m:mn><m:mn>8</m:mn></m:msup></m:math>, <![CDATA[x < 5 & y]]></p>"
    "<script>//<![CDATA[\nvar a = 9;\n//]]></script><noscript><p>No scripts 3</p></noscript>"
    "<p hidden='hidden'>Not shown 4</p><ol start='3'><li>c</li></ol>"
)


def test_xhtml_is_read_as_its_reader_shows_it() -> None:
    sheet = ".up { vertical-align: super } p.gone, .gone { text-decoration: line-through }"
    more: dict[str, str | bytes] = {
        "OEBPS/text/one a.xhtml": XHTML.format("utf-8", BODY),
        "OEBPS/look.css": sheet,
    }
    got = convert(book(more=more))
    assert got.text.partition("A note.\n\n")[2] == (
        "a b 10⁶, 10⁷, ~~499~~ 399, 10⁸, x < 5 & y\n\nNo scripts 3\n\n3. c\n"
    )
    assert got.notes == ("skipped: hidden parts (3 words)",)
