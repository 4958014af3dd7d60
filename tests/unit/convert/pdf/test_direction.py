from collections.abc import Sequence

import pytest

from kg_api.convert.pdf import convert
from kg_api.convert.pdf.direction import Place, order_letters
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
    made = convert(_write(shown, places))
    assert (made.text, made.notes) == ("".join(_HEBREW.get(letter, letter) for letter in read), ())


def test_signs_and_invalid_codes_keep_the_place_of_their_letter() -> None:
    codes = [0x5D0, 0x5B8, 0x110000, 0x5D1]  # a letter with a vowel sign, an invalid code, another letter
    places = [Place(20, 27, 0), Place(22, 25, 0), Place(18, 19, 0), Place(10, 17, 0)]
    assert order_letters(codes, places.__getitem__) == [0, 1, 2, 3]
    assert [*order_letters([0x110000, 0x61], places.__getitem__)] == [0, 1]
