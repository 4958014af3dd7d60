from collections.abc import Callable, Sequence

import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from kg_api.convert.pdf import convert
from tests.unit.convert.pdf.files import drawn

COLUMNS = ("港には三つのクレーンがある。", "四つ目は五月に来る。", "風が強い日は止める。")
TEXT = "".join(COLUMNS)
ACROSS, DOWN = "HeiseiKakuGo-W5", "HeiseiMin-W3"
Draw = Callable[[Canvas, Sequence[str]], None]


@pytest.fixture(autouse=True)
def fonts() -> None:
    pdfmetrics.registerFont(UnicodeCIDFont(DOWN, isVertical=True))
    pdfmetrics.registerFont(UnicodeCIDFont(ACROSS))
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))


def by_font(canvas: Canvas, columns: Sequence[str] = COLUMNS) -> None:
    canvas.setFont(DOWN, 14)
    for at, column in enumerate(columns):
        canvas.drawString(500 - 25 * at, 780, column)


def by_letter(canvas: Canvas, columns: Sequence[str] = COLUMNS, font: str = ACROSS, step: float = 16) -> None:
    canvas.setFont(font, 14)
    for at, column in enumerate(columns):
        for row, letter in enumerate(column):
            canvas.drawString(500 - 25 * at, 780 - step * row, letter)


@pytest.mark.parametrize("draw", [by_font, by_letter])
def test_columns_are_read_from_right_to_left(draw: Draw) -> None:
    made = convert(drawn(lambda canvas: draw(canvas, COLUMNS)))
    assert (made.text, made.pictures, made.notes) == (TEXT, (), ())


@pytest.mark.parametrize("draw", [by_font, by_letter])
def test_vertical_header_is_first_and_page_numbers_omitted(draw: Draw) -> None:
    def page(number: int) -> Callable[[Canvas], None]:
        def draw_page(canvas: Canvas) -> None:
            first = f"{'一二三四'[number]}番の{'港町川山'[number]}にある。"
            draw(canvas, [first, f"{'春夏秋冬'[number]}に来る。", TEXT[:20]])
            canvas.setFont(ACROSS, 10)
            canvas.drawString(60, 810, f"{'春夏秋冬'[number]}の巻の話")
            canvas.setFont("Helvetica", 10)
            canvas.drawString(290, 30, str(number + 1))

        return draw_page

    made = convert(drawn(*map(page, range(4))))
    assert made.notes == ("skipped: 4 repeated headers, footers, and page numbers on 4 pages",)
    begins = ("春の巻の話", "一番の港", "春に来る。", "夏の巻の話", "二番の町", "四番の山")
    places = [made.text.index(each) for each in begins]
    assert places == sorted(places)
    assert made.text.count(TEXT[:20]) == 4


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([("10", 0, 12), ("6", 5, 8)], "10⁶"),
        ([("10", 0, 12), ("-4", 5, 8), (" m", 0, 12)], "10⁻⁴ m"),
        ([("costs 450", 0, 12), ("2", 5, 7), (" in all", 0, 12)], "costs 450² in all"),
        ([("1010", 0, 12), ("2", -3, 8)], "1010₂"),
        ([("1", 5, 7), ("2013 was dry", 0, 12)], "¹2013 was dry"),
        ([("the 4", 0, 12), ("th", 5, 8), (" of May", 0, 12)], "the 4th of May"),
        ([("word", 0, 12), ("2", 5, 8)], "word2"),
        ([("10", 0, 12), ("6", 0, 12)], "106"),
        ([("10", 0, 12), ("6", 1, 11)], "106"),
    ],
)
def test_raised_digit_does_not_join_a_number(parts: Sequence[tuple[str, float, float]], text: str) -> None:
    def draw(canvas: Canvas, order: Sequence[tuple[str, float, float]] = parts) -> None:
        at = 72.0
        for words, rise, size in order:
            canvas.setFont("Helvetica", size)
            canvas.drawString(at, 700 + rise, words)
            at += canvas.stringWidth(words, "Helvetica", size)

    assert convert(drawn(draw)).text == text
