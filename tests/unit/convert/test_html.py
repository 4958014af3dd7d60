import codecs

import pytest

from kg_api.convert.html.page import convert
from tests.unit.convert.gate import assert_in_order

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Tea &amp; kettles — Shop</title>
<meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2024-03-05T10:00:00+01:00">
<meta name="keywords" content="tea, kettles; water">
<meta name="description" content="How to boil."><style>p{}</style>
</head><body><header><a href="/">Home page</a></header><nav><ul><li>One link<li>Two links</ul></nav>
<main><h1>Boiling <b>water</b><a class="headerlink" href="#x">¶</a></h1>
<p>A <b>bold</b> wo<i>r</i>d, H<sub>2</sub>O, so&shy;ft and <a href="https://example.org/x">a link</a>
over two lines<sup><a href="#f1">1</a></sup>.<br>Next line.</p><div hidden>Not shown at all</div>
<ul><li>first<li>second<ol start="3"><li>third<li>fourth</ol></ul>
<h2>Table</h2><table><caption>Prices</caption><thead><tr><th>Tea<th>Price | net<th>In</thead>
<tr><td>Green<td>3<br>euros<td>bags<tr><td colspan="2" rowspan="2">Both<td>boxes<tr><td>tins</table>
<pre><code class="language-python">def f():
    return "```"</code></pre>
<dl><dt>Kettle<dd>What boils.</dl>- no item<p># no heading<p>1. no number<img alt="A cup" src="x.png"></main>
<script>alert("no")</script><footer>Imprint and more</footer></body></html>"""


def test_a_page_as_markdown() -> None:
    got = convert(PAGE.encode())
    assert got.text == (
        "# Boiling water\n\n"
        "A bold word, H₂O, soft and a link over two lines[1]. Next line.\n\n"
        "- first\n- second\n\n  3. third\n  4. fourth\n\n"
        "## Table\n\nPrices\n\n"
        "| Tea | Price \\| net | In |\n| --- | --- | --- |\n| Green | 3 euros | bags |\n"
        "| Both |  | boxes |\n|  |  | tins |\n\n"
        '````python\ndef f():\n    return "```"\n````\n\n'
        "- Kettle\n\n  What boils.\n\n"
        "\\- no item\n\n\\# no heading\n\n1\\. no number A cup\n"
    )
    assert got.title == "Tea & kettles — Shop"
    assert got.metadata == {
        "author": "Ann Lee",
        "date": "2024-03-05T10:00:00+01:00",
        "description": "How to boil.",
        "tags": ["tea", "kettles", "water"],
        "language": "en",
    }
    assert got.notes == (
        "skipped: hidden parts (4 words)",
        "skipped: navigation (4 words)",
        "skipped: page headers and footers (5 words)",
    )


@pytest.mark.parametrize(
    "page",
    [
        "<article><header><h2>Kept title</h2></header><aside>Kept note</aside><p>Text.</p></article>",
        "<header><h1>Kept title</h1><p>Kept note</p></header><p>Text.</p>",
        "<form><h1>Kept title</h1><div>Kept note</div><input value=x><p>Text.</p></form>",
        f"<main><p>Kept title Kept note</main><div>Text. {'Longer than what calls itself main. ' * 4}</div>",
        "<table><tr><td><h1>Kept title</h1><table><tr><td>Kept note</table><tr><td>Text.</table>",
        "<ul><li><h2>Kept title</h2>Kept note<li>Text.</ul>",
        "<html><body><h2>Kept title</h2></body></html><html><body><p>Kept note</p></body> Text.</html>",
    ],
)
def test_content_elements_are_kept(page: str) -> None:
    got = convert(page.encode())
    assert_in_order(got, ["Kept title", "Kept note", "Text."])
    assert got.notes == ()


def test_content_beside_the_main_part_is_counted() -> None:
    got = convert(f"<main><p>{'Text. ' * 40}</main><div>An advert</div>".encode())
    assert got.notes == ("skipped: content next to the main part (2 words)",)


WORDS = "<p>Über naïve 10 €</p>"


@pytest.mark.parametrize(
    ("data", "noted"),
    [
        (codecs.BOM_UTF16_LE + "<p>Über naïve 10 €</p>".encode("utf-16-le"), False),
        ('<meta charset="iso-8859-1"><p>Über naïve 10 €</p>'.encode("cp1252"), False),
        ('<?xml version="1.0" encoding="windows-1252"?><p>Über naïve 10 €</p>'.encode("cp1252"), False),
        (f"<meta http-equiv=Content-Type content='text/html;charset=latin1'>{WORDS}".encode("cp1252"), False),
        ('<meta charset="us-ascii"><p>Über naïve 10 €</p>'.encode("cp1252"), False),
        ('<meta charset="unicode-1-1-utf-8"><p>Über naïve 10 €</p>'.encode(), False),
        ('<meta charset="iso-8859-1"><p>Über naïve 10 €</p>'.encode(), True),
        ('<meta charset="utf-8"><p>Über naïve 10 €, schöne Grüße für Käse</p>'.encode("cp1252"), True),
        ('<meta charset="utf-16"><p>Über naïve 10 €</p>'.encode(), False),
        ('<meta charset="utf-16"><p>Über naïve 10 €</p> '.encode(), False),  # an even number of bytes
        ('<meta charset="nonsense"><p>Über naïve 10 €</p>'.encode(), False),
    ],
)
def test_encodings(data: bytes, noted: bool) -> None:
    got = convert(data)
    assert "Über naïve 10 €" in got.text
    assert bool(got.notes) is noted


@pytest.mark.parametrize(
    ("label", "codec", "words"),
    [
        ("gb2312", "gb18030", "朱镕基"),
        ("ks_c_5601-1987", "cp949", "똠방각하"),
        ("x-sjis", "cp932", "① クレーン"),
        ("euc-jp", "euc_jis_2004", "① クレーン"),
        ("big5", "big5hkscs", "喺度"),
        ("windows-874", "cp874", "เครน"),
        ("koi8", "koi8-r", "кран"),
    ],
)
def test_encoding_labels_follow_browsers(label: str, codec: str, words: str) -> None:
    assert convert(f"<meta charset={label}><p>{words} 10".encode(codec)).text == f"{words} 10\n"


@pytest.mark.parametrize(
    "data",
    [
        b"<div>" * 100_000 + b"<p>deep words</p>",
        b"<span>" * 5_000 + b"deep words" + b"</span>" * 5_000,
        b"<ol>" + b"<li>deep words</li>" * 20_000,
        b"deep words" + b"<br> " * 50_000,
        b"<!DOCTYPE html [<!ENTITY a 'deep'><!ENTITY b '&a;&a;'>]><p>deep words &b;</p>",
        b"<table>" + b"<tr><td colspan=1000 rowspan=1000>deep words</td></tr>" * 200,
        b"<nav>" + b"<a>x</a> " * 500 + b"</nav><p>deep words",
    ],
    ids=range(7),
)
def test_hostile_pages_are_read(data: bytes) -> None:
    assert "deep words" in convert(data).text


@pytest.mark.parametrize("table", ["<table border=1><tr><td>Ship<td>Parts", "<table><tr><th>Ship<th>Parts"])
def test_table_in_a_cell_keeps_the_rows_of_a_data_table(table: str) -> None:
    inner = "<table><tr><td>keel<td>4<tr><td>mast<td>2</table>"
    page = f"{table}<tr><td>Anna<td>{inner}<tr><td>Berta<td>rope</table>"
    rows = "| Ship | Parts |\n| --- | --- |\n| Anna | keel 4 mast 2 |\n| Berta | rope |\n"
    assert convert(page.encode()).text == rows


def test_text_for_browsers_without_frames_is_read() -> None:
    frames = "<frameset cols='20%,80%'><frame src=a><frame src=b>"
    page = f"{frames}<noframes><body><h1>Ships</h1><p>Anna &amp; <b>Berta</b></body></noframes></frameset>"
    assert convert(f"<title>Port</title>{page}".encode()).text == "# Ships\n\nAnna & Berta\n"


@pytest.mark.parametrize("tag", ["<embed src='a>b'>", "<source src=a>", "<track src=a>", "<wbr>", "</embed>"])
def test_text_after_an_empty_element_is_read(tag: str) -> None:
    page = f"<p>Ships of the {tag}port</p><h2>Anna</h2><p>Built in 1881</p>"
    assert convert(page.encode()).text == "Ships of the port\n\n## Anna\n\nBuilt in 1881\n"


@pytest.mark.parametrize(
    ("page", "text", "skipped"),
    [
        ("<del>a <p>b</p> c</del>", "~~a~~\n\n~~b~~\n\n~~c~~\n", ""),
        ("<p>x<sup>2<img alt=y>3</sup></p>", "x² y ³\n", ""),
        ("<p><ruby><rb>東京</rb><rt>とうきょう</rt></ruby></p>", "東京(とうきょう)\n", ""),
        ("<h2>One<div>Two</div></h2>", "## One Two\n", ""),
        ("<pre>a\n<span hidden>b <b>c</b></span>d</pre>", "```\na\nd\n```\n", "hidden parts (2 words)"),
        ("<h1 title>t</h1><p>x</p><div epub:type=toc>y</div>", "# t\n\nx\n", "navigation"),
        (
            "<table border=1><tr><td>a<td>b<tr><td hidden>c<td>d<tbody hidden><tr><td>e</table>",
            "| a | b |\n| --- | --- |\n|  | d |\n",
            "hidden parts (2 words)",
        ),
        (
            "<table border=1><tr><td>a<td>b<tr><td>c<td>d <i hidden><b>e</b></i></table>",
            "| a | b |\n| --- | --- |\n| c | d |\n",
            "hidden parts (1 word)",
        ),
    ],
)
def test_rare_elements_read_as_browsers_show_them(page: str, text: str, skipped: str) -> None:
    made = convert(page.encode())
    assert made.text == text
    assert skipped in "; ".join(made.notes)


def test_a_page_may_have_thousands_of_line_break_opportunities() -> None:
    assert convert(f"<p>{'a<wbr>' * 5000}</p><p>end</p>".encode()).text == f"{'a' * 5000}\n\nend\n"


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        ("<td>Anna<td>keel<tr><td>Berta<td>rope", "| Anna | keel |\n| --- | --- |\n| Berta | rope |\n"),
        (
            "<tr><th>Ship<th>Parts</tr><tbody><td>Anna</td><td>keel</td></tbody><td>Berta</td><td>rope</td>",
            "| Ship | Parts |\n| --- | --- |\n| Anna | keel |\n| Berta | rope |\n",
        ),
        ("<td>Anna</td>", "Anna\n"),
    ],
)
def test_cells_without_a_row_are_read(rows: str, read: str) -> None:
    assert convert(f"<table>{rows}</table>".encode()).text == read
