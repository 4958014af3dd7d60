import pytest
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from kg_api.convert.pdf import convert
from tests.unit.convert.pdf.files import BODY, STORY, drawn, lines, paragraphs, story, words


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("repeated", [1, 7])
def test_words_keep_source_order_in_any_columns(columns: int, repeated: int) -> None:
    texts = [f"{text} This was part {i}." for i, text in enumerate(STORY * repeated)]
    found = convert(story(*paragraphs(texts), columns=columns))
    assert words(found.text) == " ".join(texts).split()


def test_paragraph_across_columns_or_pages_is_one() -> None:
    texts = [f"{text} This was part {i}." for i, text in enumerate(STORY * 8)]
    for columns in (1, 2):
        found = convert(story(*paragraphs(texts), columns=columns)).text.split("\n\n")
        whole = sum(text in found for text in texts)
        assert whole >= len(texts) - 1, columns  # a sentence that ends with its page is no sign of a going on


def test_line_end_hyphens_are_removed_and_compounds_kept() -> None:
    page = lines(
        "A fire brigade keeps its ladders in the mar-",
        "ket hall, near a well-known and well-",
        "known baker, a co-operative of left-",
        "Handed people and the years 1990-",
        "1995 of the crews.",
    )
    assert convert(drawn(page)).text == (
        "A fire brigade keeps its ladders in the market hall, near a well-known and well-known baker, "
        "a co-operative of left-Handed people and the years 1990-1995 of the crews."
    )


def test_tightly_set_words_are_separated() -> None:
    """groff and XeTeX do not write a space, and the gap is less than a fifth of the font size."""
    text = "it refers to any job of the rules file and scripts for a wide range"

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", 10)
        at = 72.0
        for word in text.split():
            canvas.drawString(at, 740, word)
            at += canvas.stringWidth(word) + 1.8

    assert words(convert(drawn(draw)).text) == text.split()


def test_accents_and_letters_of_the_far_east() -> None:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    chinese = ParagraphStyle("chinese", parent=BODY, fontName="STSong-Light", wordWrap="CJK")
    latin = "Größe, naïveté, cœur, Øresund, señor, “quoted” – and so on…"
    far = "图书馆里有两本书第一本记载来过的船第二本记载没有来的船" * 4
    found = convert(story(*paragraphs([latin]), *paragraphs([far], chinese)))
    assert found.text.split("\n\n") == [latin, far]


def test_rotated_page_reads_normally() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(90)
        canvas.rotate(90)
        canvas.translate(0, -595)
        canvas.drawString(72, 500, "Turned by a quarter,")
        canvas.drawString(72, 486, "read as ever.")

    assert convert(drawn(draw)).text == "Turned by a quarter, read as ever."


def test_a_heading_across_the_page_splits_the_columns() -> None:
    left = [f"Left column, line {i}, runs to its end" for i in range(12)]
    right = [f"Right column, line {i}, runs to its end" for i in range(12)]

    def draw(canvas: Canvas) -> None:
        for part in (0, 1):
            lines("A title as wide as the whole page, in letters", y=760 - 340 * part, size=20)(canvas)
            lines(*left[part * 6 : part * 6 + 6], y=720 - 340 * part, size=11)(canvas)
            lines(*right[part * 6 : part * 6 + 6], x=310, y=720 - 340 * part, size=11)(canvas)

    found = words(convert(drawn(draw)).text)
    title = ["A", "title", "as", "wide", "as", "the", "whole", "page,", "in", "letters"]
    halves = [title + " ".join(left[at : at + 6] + right[at : at + 6]).split() for at in (0, 6)]
    assert found == halves[0] + halves[1]
