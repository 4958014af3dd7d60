import io
import time
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pytest
from numpy.typing import NDArray
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from kg_api.convert.pdf import convert, pages
from kg_api.convert.pdf.pages import MAX_PAGE_PIXELS, LetterStream, draw_page, find_passage
from kg_api.errors import UnreadableDocument
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.images import DrawnPage, PageToDraw
from tests.support.hostile_files import pdf as pdf_of
from tests.support.hostile_files import pdf_of_loops, pdf_of_pages
from tests.unit.convert.pdf import raw_pdf

DATA = Path(__file__).parents[3] / "data"
ONE_PAGE = {1: "<< /Type /Catalog /Pages 2 0 R >>", 2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"}


def a_pdf(rotate: int = 0) -> bytes:
    """A page of 400 x 600 points with a sentence near its upper left corner."""
    made = io.BytesIO()
    canvas = Canvas(made, pagesize=(400, 600), invariant=1)
    canvas.setFont("Helvetica", 20)
    canvas.drawString(40, 540, "Apricots ripen early")
    canvas.showPage()
    canvas.save()
    document, turned = pdfium.PdfDocument(made.getvalue()), io.BytesIO()
    document[0].set_rotation(rotate)
    document.save(turned)
    return turned.getvalue()


def shown(drawn: DrawnPage) -> Image.Image:
    return Image.open(io.BytesIO(drawn.content))


def coloured(drawn: DrawnPage) -> NDArray[np.bool_]:
    pixels = np.asarray(shown(drawn).convert("RGB")).astype(int)
    return pixels.max(axis=2) - pixels.min(axis=2) > 40


def extent(drawn: DrawnPage) -> tuple[float, float, float, float]:
    rows, columns = np.nonzero(coloured(drawn))
    height, width = coloured(drawn).shape
    left, right = columns.min() / width, columns.max() / width
    return tuple(round(float(each), 2) for each in (left, rows.min() / height, right, rows.max() / height))  # type: ignore[return-value]


def test_rendered_page_has_requested_width_without_colour() -> None:
    drawn = draw_page(PageToDraw(1, 500), a_pdf())
    assert (drawn.pages, drawn.boxed) == (1, 0)
    picture = shown(drawn)
    assert (picture.format, picture.mode, picture.size) == ("PNG", "L", (500, 750))
    assert np.asarray(picture).min() < 50  # the words are on it


def test_words_are_boxed_at_their_position() -> None:
    drawn = draw_page(PageToDraw(1, 800, "Apricots ripen early"), a_pdf())
    assert drawn.boxed == 3
    left, top, right, bottom = extent(drawn)
    assert (left, right) == (pytest.approx(0.1, abs=0.01), pytest.approx(0.56, abs=0.05))
    assert top == pytest.approx(0.065, abs=0.015)
    assert bottom == pytest.approx(0.11, abs=0.01)  # its baseline is at a tenth of the height
    one = draw_page(PageToDraw(1, 800, words=("ripen",)), a_pdf())
    assert one.boxed == 1
    assert extent(one)[0] > 0.25
    assert extent(one)[2] < 0.46


def test_letters_beyond_the_basic_plane_are_boxed() -> None:
    letters = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
        "1 begincodespacerange <00> <FF> endcodespacerange\n"
        "1 beginbfchar <46> <D835DD3D> endbfchar\n"
        "2 beginbfrange <20> <20> <0020> <61> <7A> <0061> endbfrange\nendcmap end end"
    )
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /ToUnicode 8 0 R >>"
    content = b"BT /F2 12 Tf 72 700 Td (the field F has few elements) Tj ET"
    data = raw_pdf.page(content, more=[font, raw_pdf.stream(letters.encode())], fonts="/F2 7 0 R")
    text = convert(data).text
    assert text == "the field 𝔽 has few elements"
    assert draw_page(PageToDraw(1, 800, text), data).boxed == 6
    assert draw_page(PageToDraw(1, 800, words=("𝔽",)), data).boxed == 1


@pytest.mark.parametrize(("rotate", "where"), [(90, "right"), (180, "bottom"), (270, "left")], ids=str)
def test_rotated_page_is_boxed_correctly(rotate: int, where: str) -> None:
    drawn = draw_page(PageToDraw(1, 600, "Apricots ripen early"), a_pdf(rotate))
    picture = shown(drawn).convert("L")
    assert picture.size == ((600, 400) if rotate != 180 else (600, 900))
    dark = np.asarray(picture) < 100
    assert drawn.boxed == 3
    marks = coloured(drawn)
    rows, columns = np.nonzero(marks)
    inside = dark[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert dark.sum() == inside.sum() > 100  # every letter is within the boxes
    side = {"right": columns.min() > 500, "bottom": rows.min() > 750, "left": columns.max() < 100}
    assert side[where]


@pytest.mark.parametrize("page", [0, 4, 10**9])
def test_unknown_page_renders_no_image(page: int) -> None:
    assert draw_page(PageToDraw(page, 300), pdf_of_pages(3)) == DrawnPage(3, b"", 0)


@pytest.mark.parametrize(("width", "height"), [(1, 14_400), (14_400, 1), (14_400, 14_400)])
def test_no_page_has_too_many_pixels(width: int, height: int) -> None:
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] >>"
    size = shown(draw_page(PageToDraw(1, 2400), pdf_of({**ONE_PAGE, 3: page}))).size
    assert size[0] * size[1] <= 1.1 * MAX_PAGE_PIXELS


def test_too_large_rendering_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_PNG", 1000)
    with pytest.raises(UnreadableDocument, match="smaller width"):
        draw_page(PageToDraw(1, 800), a_pdf())


def test_immense_image_is_not_decoded() -> None:
    image = "<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceGray "
    objects = {
        **ONE_PAGE,
        3: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R "
        "/Resources << /XObject << /I 5 0 R >> >> >>",
        4: "<< /Length 27 >>\nstream\nq 200 0 0 200 0 0 cm /I Do Q\nendstream",
        5: image + "/BitsPerComponent 8 /Length 1 >>\nstream\nx\nendstream",
    }
    with pytest.raises(UnreadableDocument, match="3600 megapixels"):
        draw_page(PageToDraw(1, 300), pdf_of(objects))


def test_self_referencing_pages_are_rendered_or_rejected() -> None:
    for page in (1, 2, 999):
        try:
            assert draw_page(PageToDraw(page, 300, "anything at all"), pdf_of_loops()).boxed == 0
        except UnreadableDocument:
            continue


@pytest.mark.parametrize(
    "name", ["amd-user-guide.pdf", "files/fhs-3.0.pdf", "files/texshop-and-asymptote.pdf"]
)
def test_words_of_real_passages_are_found_on_pages(name: str) -> None:
    data = (DATA / name).read_bytes()
    made = convert(data)
    given = Incoming("notes", name, made.text, format="pdf", pages=tuple(made.pages))
    sources = [each for each in to_record(given)[0].sources if each.page and each.page == each.last_page]
    boxed = words = 0
    for each in sources[:: max(1, len(sources) // 15)]:
        boxed += draw_page(PageToDraw(each.page or 0, 100, each.full_text), data).boxed
        words += len(LetterStream.from_letters(each.full_text).begins)
    assert boxed >= 0.98 * words > 200


PAGE = (
    "Guide to gardens 17 Apricots ripen early in July, where win-\nters are mild and springs are dry. "
    "Blueberries need acid soil; the \ufb01ne roots su\ufb00er from lime. Cherries split after heavy rain."
)


def found(passage: str, page: str) -> list[str]:
    stream = LetterStream.from_letters(page)
    words = find_passage(LetterStream.from_letters(passage), stream)
    return [page[stream.origin[each[0]] : stream.origin[each[-1]] + 1] for each in words]


UMLAUTS = "U\u0308ber den Flu\u00df nach K\u00f6ln"


@pytest.mark.parametrize(
    ("passage", "page", "words"),
    [
        ("where winters are mild", PAGE, ["where", "win-\nters", "are", "mild"]),
        ("**The fine roots** suffer.", PAGE, ["the", "ﬁne", "roots", "suﬀer"]),
        ("Uber den Fluss nach Koln", UMLAUTS, UMLAUTS.split()),
        (
            "Cherries split after heavy rain. Dates are picked",
            PAGE,
            ["Cherries", "split", "after", "heavy", "rain"],
        ),
        *(
            (absent, PAGE, [])
            for absent in ("", "...", "Dates are picked in the autumn", "x", "early in May")
        ),
        ("# 17", PAGE, ["17"]),
        ("## Berry", "Blueberry. A berry, berry good.", ["berry"]),
        ("berr", "berry", []),
    ],
)
def test_words_of_a_passage_are_found_in_any_form(passage: str, page: str, words: list[str]) -> None:
    assert found(passage, page) == words


def test_repeated_phrase_matches_where_passage_continues() -> None:
    page = "See the user guide for more. Then read on. See the user guide for less of it, or ask us."
    stream = LetterStream.from_letters(page)
    words = find_passage(LetterStream.from_letters("See the user guide for less of it"), stream)
    assert words[0][0] == stream.text.rindex("seetheuser")


def test_a_page_that_repeats_itself_takes_no_time() -> None:
    begun = time.monotonic()
    words = find_passage(
        LetterStream.from_letters("a" * 50_000 + " ab" * 5000), LetterStream.from_letters("a" * 100_000)
    )
    assert time.monotonic() - begun < 5
    assert len(words) == 1
