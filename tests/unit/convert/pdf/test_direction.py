import re
from collections.abc import Sequence

import pytest

from kg_api.convert.pdf import convert
from kg_api.convert.pdf.direction import Place, order_letters
from kg_api.convert.pdf.pages import draw_page
from kg_api.schemas.images import PageToDraw
from tests.unit.convert.pdf.raw_pdf import page, stream

_WIDTH = 7.2  # of a letter of Courier at 12 points
_HEBREW = {chr(ord("A") + at): chr(0x5D0 + at) for at in range(26)}  # capitals stand for Hebrew letters
_MAP = (
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
    "1 begincodespacerange <00> <FF> endcodespacerange\n"
    "2 beginbfrange <20> <40> <0020> <41> <5A> <05D0> endbfrange\n"
    "1 beginbfrange <61> <7A> <0061> endbfrange\nendcmap end end"
)
_FONT = (
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /FirstChar 32 /LastChar 122 /Widths ["
    + b"600 " * 91
    + b"] /ToUnicode 8 0 R >>"
)


def _write(shown: str, order: Sequence[int]) -> bytes:
    """Draw a line as readers see it, with its letters in another order in the file."""
    letters = (f"BT /F2 12 Tf {72 + at * _WIDTH:.2f} 700 Td <{ord(shown[at]):02x}> Tj ET\n" for at in order)
    return page("".join(letters).encode(), more=[_FONT, stream(_MAP.encode())], fonts="/F2 7 0 R")


LINES = {
    ".GF xyz qrs 12.50 30 (ED) CBA": "ABC (DE) 30 12.50 xyz qrs FG.",
    "the word CBA FED IHG means this": "the word GHI DEF ABC means this",
}


@pytest.mark.parametrize(("shown", "read"), LINES.items())
@pytest.mark.parametrize("order", ["left to right", "right to left", "words from right to left"])
def test_right_to_left_letters_are_read_in_order(shown: str, read: str, order: str) -> None:
    places = [*range(len(shown))]
    if order == "right to left":
        places.reverse()
    elif order != "left to right":
        words = "".join(str(int(letter == " ")) for letter in shown).split("1")
        ends = [sum(len(word) + 1 for word in words[:at]) for at in range(len(words))]
        parts = [places[begin : begin + len(word) + 1] for begin, word in zip(ends, words, strict=True)]
        places = [at for part in reversed(parts) for at in part]
    data, text = _write(shown, places), "".join(_HEBREW.get(letter, letter) for letter in read)
    made = convert(data)
    assert (made.text, made.notes) == (text, ())
    words = re.findall(r"\w+", text)
    assert draw_page(PageToDraw(1, 800, text), data).boxed == len(words)
    assert draw_page(PageToDraw(1, 800, words=(words[0],)), data).boxed == 1


def _place(*pieces: tuple[float, float, str]) -> bytes:
    """Draw words from right to left, and numbers, each with its right side and its baseline."""
    content = ""
    for right, y, text in pieces:
        shown = text if text[0].isdigit() else text[::-1]
        content += f"BT /F2 12 Tf {right - len(text) * _WIDTH:.2f} {y} Td <{shown.encode().hex()}> Tj ET\n"
    return page(content.encode(), more=[_FONT, stream(_MAP.encode())], fonts="/F2 7 0 R")


def _read(data: bytes) -> str:
    letters = {hebrew: capital for capital, hebrew in _HEBREW.items()}
    return "".join(letters.get(letter, letter) for letter in convert(data).text)


def test_right_column_of_hebrew_is_read_first() -> None:
    right = ["ABC DEF GHI JKL MNO PQRS", "BCD EFG HIJ KLM NOP QRSA", "CDE FGH IJK LMN OPQ RSAB", "DEF GHI."]
    left = ["NOP QRS ABC DEF GHI JKLM", "OPQ RSA BCD EFG HIJ KLMN", "PQR SAB CDE FGH IJK LMNO", "QRS ABC."]
    rows = [
        (x, 700.0 - 14 * at, text) for x, some in ((540, right), (290, left)) for at, text in enumerate(some)
    ]
    assert _read(_place(*rows)) == f"{' '.join(right)}\n\n{' '.join(left)}"


def test_rows_of_hebrew_become_a_table_from_the_right() -> None:
    cells = [["ABC", "DE", "FGH"], ["IJ KLM", "12", "18.50"], ["NO", "7", "22.00"]]
    places = zip((540, 420, 320), zip(*cells, strict=True), strict=True)
    drawn = _place(*((x, 700.0 - 16 * at, text) for x, column in places for at, text in enumerate(column)))
    assert _read(drawn).splitlines() == [
        "| ABC | DE | FGH |",
        "| --- | --- | --- |",
        "| IJ KLM | 12 | 18.50 |",
        "| NO | 7 | 22.00 |",
    ]


def test_signs_of_one_glyph_keep_the_place_of_their_letter() -> None:
    codes = [0x64E, 0x644, 0x64E, 0x648]  # two letters, each with a vowel sign that is drawn lower or higher
    places = [
        Place(24, 26, 3, 12, 20),
        Place(22, 24, 3, 12, 20),
        Place(32, 34, -2, 12, 30),
        Place(30, 32, -2, 12, 30),
    ]
    assert order_letters(codes, places.__getitem__) == [3, 2, 1, 0]


def test_signs_and_invalid_codes_keep_the_place_of_their_letter() -> None:
    codes = [0x5D0, 0x5B8, 0x110000, 0x5D1]  # a letter with a vowel sign, an invalid code, another letter
    places = [Place(20, 27, 0), Place(22, 25, 0), Place(18, 19, 0), Place(10, 17, 0)]
    assert order_letters(codes, places.__getitem__) == [0, 1, 2, 3]
    assert [*order_letters([0x110000, 0x61], places.__getitem__)] == [0, 1]
