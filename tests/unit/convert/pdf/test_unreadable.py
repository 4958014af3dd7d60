from collections.abc import Callable, Iterable

import pytest

from kg_api.convert.isolated.pool import add_skipped_images_note
from kg_api.convert.pdf import convert
from kg_api.convert.pdf.scans import PictureReader
from kg_api.errors import UnreadableDocument
from kg_api.settings import ConversionSettings
from tests.unit.convert.pdf.raw_pdf import FIRST, page, stream
from tests.unit.convert.pdf.test_pictures import Engine, line

LINES = [
    "The pump failed at forty bar on Tuesday night.",
    "It was replaced by a model of another maker.",
    "The board approved the cost of 4711 in its meeting.",
]
LETTERS = sorted(set("".join(LINES)))
Font = tuple[Callable[[str], bytes], list[bytes]]
"""How it writes a text, and its objects, which begin with number FIRST."""


def ascii_codes(text: str) -> bytes:
    return text.encode("ascii")


def codes_of(first: int) -> Callable[[str], bytes]:
    return lambda text: bytes(first + LETTERS.index(each) for each in text)


def type_3(encode: Callable[[str], bytes], letters: Iterable[str] = LETTERS, scale: str = ".001") -> Font:
    codes = sorted({encode(each)[0] for each in letters})
    names = " ".join(f"{code} /g{code}" for code in codes)
    drawings = " ".join(f"/g{code} 8 0 R" for code in codes)
    font = (
        f"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 600 700] /FontMatrix [{scale} 0 0 {scale} 0 0] "
        f"/FirstChar 0 /LastChar 255 /Widths [{'600 ' * 256}] /Encoding << /Differences [{names}] >> "
        f"/CharProcs << {drawings} >> /Resources << >> >>"
    )
    return encode, [font.encode(), stream(b"600 0 0 0 500 700 d1 0 0 500 700 re f")]


def composite(to_unicode: bytes = b"") -> Font:
    """Return a font whose codes are glyph numbers, as most programs write (A is 36)."""
    told = b"/ToUnicode 8 0 R" if to_unicode else b""
    font = (
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Cut /Encoding /Identity-H %s /DescendantFonts [<< "
        b"/Type /Font /Subtype /CIDFontType2 /BaseFont /Cut /DW 600 /CIDSystemInfo "
        b"<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>] >>" % told
    )
    return lambda text: b"".join((ord(each) - 29).to_bytes(2) for each in text), [font, stream(to_unicode)]


def simple() -> Font:
    """Return a font with made-up names and no drawings."""
    names = " ".join(f"/G{number:02}" for number in range(len(LETTERS)))
    font = (
        f"<< /Type /Font /Subtype /Type1 /BaseFont /Cut /FirstChar 0 /LastChar 255 /Widths [{'600 ' * 256}] "
        f"/Encoding << /Differences [33 {names}] >> >>"
    )
    return codes_of(33), [font.encode()]


PRIVATE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <0000> <FFFF> endcodespacerange
1 beginbfrange <0000> <00FF> <E000> endbfrange endcmap end end"""


def write(font: Font, *texts: str, readable: tuple[str, ...] = ()) -> bytes:
    encode, objects = font
    lines = [f"BT /F1 12 Tf 72 {760 - 20 * at} Td ({text}) Tj ET" for at, text in enumerate(readable)]
    lines += [
        f"BT /F2 12 Tf 72 {600 - 20 * at} Td <{encode(text).hex()}> Tj ET" for at, text in enumerate(texts)
    ]
    return page("\n".join(lines).encode(), [], objects, fonts=f"/F2 {FIRST} 0 R")


UNREADABLE = {
    "drawings": type_3(codes_of(33)),
    "letters for letters": type_3(codes_of(65)),
    "control codes": type_3(codes_of(1)),
    "numbers of glyphs": composite(),
    "made-up names": simple(),
    "private use": composite(PRIVATE),
}
TOLD = "skipped: 3 lines of page 1, because the font does not map to letters"


@pytest.mark.parametrize("font", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_text_is_omitted_and_reported(font: Font) -> None:
    made = convert(write(font, *LINES))
    assert (made.text, made.notes, made.unreadable) == ("", (TOLD,), (1,))
    with pytest.raises(UnreadableDocument, match="do not map to letters") as error:
        add_skipped_images_note(made, "no OCR is installed")
    assert "no OCR is installed" in str(error.value)
    assert "scanned" not in str(error.value)


@pytest.mark.parametrize("font", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_readable_lines_of_the_page_stay(font: Font) -> None:
    readable = ("The crane lifts 40 tons.", "It stands on the pier.")
    made = convert(write(font, *LINES, readable=readable))
    assert (made.text, made.notes, made.unreadable) == (" ".join(readable), (TOLD,), (1,))
    assert add_skipped_images_note(made, "OCR is off").notes[1:] == (
        "page 1 was not read by OCR: OCR is off",
    )


def test_single_unreadable_signs_are_reported() -> None:
    made = convert(write(UNREADABLE["control codes"], "a", readable=("The crane lifts 40 tons.",)))
    told = "skipped: 1 sign of page 1, because the font does not map to letters"
    assert (made.text, made.notes) == ("The crane lifts 40 tons.", (told,))


@pytest.mark.parametrize("font", [UNREADABLE["drawings"], UNREADABLE["numbers of glyphs"]])
def test_ocr_reads_unreadable_lines_only(font: Font) -> None:
    readable = ("The crane lifts 40 tons.", "It stands on the pier.")
    scale, height = 200 / 72, 792
    seen = [line("Another 41 tons.", 72 * scale, (height - 760) * scale)]
    seen += [line(text, 72 * scale, (height - 600 + 20 * at) * scale) for at, text in enumerate(LINES)]
    reader = PictureReader(Engine([seen]).read, ConversionSettings())
    made = convert(write(font, *LINES, readable=readable), pictures=reader)
    assert made.text.split() == " ".join([*readable, *LINES]).split()
    assert made.notes == ("page 1 was read by OCR (rapidocr, confidence 0.90): words may be wrong",)
    assert (made.unreadable, made.pictures) == ((), ())


READABLE = {
    "words": LINES,
    "code": ["for (i = 0; i < n; i++) { total += row[i] * 2; }", "return total / count;"],
    "numbers": ["1.5 2.25 3", "47 11 12,5", "2024 2025 -7"],
    "one word": ["Overview"],
    "Swahili": [
        "Pampu ya maji iliharibika usiku wa Jumanne katika bandari kubwa.",
        "Meneja aliamua kununua pampu mpya kutoka kampuni nyingine mjini.",
        "Bodi ilikubali gharama katika mkutano wake wa mwezi uliopita.",
    ],
    "German": ["Die Pumpe fiel in der Nacht aus.", "Sie wurde ersetzt."],
}


@pytest.mark.parametrize("texts", READABLE.values(), ids=READABLE.keys())
def test_ascii_codes_without_names_are_read(texts: list[str]) -> None:
    """TeX can draw letters like this."""
    made = convert(write(type_3(ascii_codes, "".join(texts)), *texts))
    assert made.text.split() == " ".join(texts).split()
    assert made.notes == ()


def test_type_3_size_is_that_of_drawings() -> None:
    texts = {"The crane lifts": (0.024, 740), "It lifts 40 tons.": (0.012, 700), "It turns.": (0.012, 685)}
    encode, objects = type_3(ascii_codes, "".join(texts), scale="1")
    drawn = [
        f"BT /F2 {size} Tf 72 {at} Td <{encode(text).hex()}> Tj ET" for text, (size, at) in texts.items()
    ]
    made = convert(page("\n".join(drawn).encode(), [], objects, fonts=f"/F2 {FIRST} 0 R"))
    assert made.text == "# The crane lifts\n\nIt lifts 40 tons.\n\nIt turns."
