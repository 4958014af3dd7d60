import random
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import ListFlowable, ListItem, PageBreak, Paragraph, Table

from kg_api.convert import pdf
from kg_api.convert.isolated.pool import add_skipped_images_note
from kg_api.convert.pdf import convert
from kg_api.convert.pdf.layout import find_columns
from kg_api.convert.pdf.letters import get_visible_text
from kg_api.convert.shared.accounting import find_missing
from kg_api.errors import UnreadableDocument
from kg_api.text.markdown import parse_blocks
from tests.unit.convert.pdf.files import BODY, STORY, drawn, heading, lines, listing, paragraphs, story
from tests.unit.convert.pdf.raw_pdf import annotation, appearance, page, shows, widget

CODE = 'def hello(name):\n    if name:\n        print("Hello", name)\n\n    return  1   # two blanks'


def test_lists_keep_their_marks() -> None:
    long = "Bring the rope to the boat and make it fast to both of the rings, as the book of harbours says it"
    texts = (long, "Count the lamps", "Close the door")
    items: list[Any] = [ListItem(Paragraph(text, BODY)) for text in texts]
    bullets, numbers = ListFlowable(items, bulletType="bullet"), ListFlowable(items, bulletFormat="%s.")
    found = convert(story(*paragraphs(STORY[:1]), bullets, *paragraphs(STORY[1:2]), numbers)).text
    assert found.split("\n\n") == [
        STORY[0],
        f"- {long}\n- Count the lamps\n- Close the door",
        STORY[1],
        f"1. {long}\n2. Count the lamps\n3. Close the door",
    ]
    assert [block.kind for block in parse_blocks(found)].count("list_item") == 6


def test_code_keeps_its_lines_and_indentation() -> None:
    found = convert(story(*paragraphs(STORY[:2]), listing(CODE), *paragraphs(STORY[2:])))
    assert f"\n\n```\n{CODE}\n```\n\n" in found.text


def test_colored_words_of_code_are_not_cells() -> None:
    code = ["def area(side):", "    square = side * side", "    return square"]

    def draw(canvas: Canvas) -> None:
        lines("The crane of the harbour broke in the storm of May,", "and nobody has repaired it.")(canvas)
        for number, line in enumerate(code):
            y = 500 - 12 * number
            canvas.setFont("Courier", 10)
            for word in re.finditer(r"\s+|\w+|\W", line):
                canvas.setFillGray(0.9)
                canvas.rect(72 + 6 * word.start(), y - 3, 6 * len(word[0]), 12, stroke=0, fill=1)
                canvas.setFillGray(0)
                canvas.drawString(72 + 6 * word.start(), y, word[0])

    assert convert(drawn(draw)).text.endswith("\n```\n" + "\n".join(code) + "\n```")


def test_aligned_columns_become_a_table_with_wrapped_cells() -> None:
    rows = [["Ship", "Tons", "Cargo"], ["Anna", "120", "rye, oats"], ["Berta", "85", "a|b"]]
    head = "| Ship | Tons | Cargo |\n| --- | --- | --- |\n| Anna | 120 | rye, oats |\n| Berta | 85 | a\\|b |"
    for row, last in (
        (["Carl", "", "salt"], "| Carl |  | salt |"),
        (["Dora", "40", "rope that was lan-\nded in Riga"], "| Dora | 40 | rope that was landed in Riga |"),
    ):
        table = Table([*rows, row], colWidths=[90, 60, 120], style=[("VALIGN", (0, 0), (-1, -1), "TOP")])
        found = convert(story(*paragraphs(STORY[:2]), table, *paragraphs(STORY[2:])))
        assert found.text.split("\n\n") == [*STORY[:2], f"{head}\n{last}", *STORY[2:]]


_RULED = [
    ["Ship", "Cargo of the\nlast voyage", "Fate"],
    ["Anna", "rye and oats\nfrom Riga, landed\nin good order", "sold in\nBergen"],
    ["Berta", "rope", "lost in\nthe storm of\nNovember\n1893"],
]
_RULED_ROWS = (
    "| Ship | Cargo of the last voyage | Fate |\n| --- | --- | --- |\n"
    "| Anna | rye and oats from Riga, landed in good order | sold in Bergen |\n"
    "| Berta | rope | lost in the storm of November 1893 |"
)


@pytest.mark.parametrize(
    "sides",
    [[("GRID", (0, 0), (-1, -1), 1, "black")], [("INNERGRID", (0, 0), (-1, -1), 1, "black")]],
    ids=["all sides", "inner sides"],
)
@pytest.mark.parametrize("columns", [1, 2])
def test_ruled_table_keeps_centered_cells_together(sides: list[Any], columns: int) -> None:
    table = Table(_RULED, colWidths=[45, 90, 70], style=[*sides, ("VALIGN", (0, 0), (-1, -1), "MIDDLE")])
    texts = STORY * columns
    flow = [*paragraphs(texts[:3]), table, *paragraphs(texts[3:])]
    found = convert(story(*flow, columns=columns)).text
    assert found.split("\n\n") == [*texts[:3], _RULED_ROWS, *texts[3:]]


def test_wrapped_text_between_two_rules_is_one_row() -> None:
    texts = [
        "one of the ships of the\nharbour that came back\nfrom Riga",
        "the ship that was lost\nin a storm of November\nnear Bergen",
    ]
    rows = [["Anna", "Berta"], texts]
    found = convert(story(Table(rows, colWidths=115, style=[("GRID", (0, 0), (-1, -1), 1, "black")]))).text
    cells = " | ".join(text.replace("\n", " ") for text in texts)
    assert found == f"| Anna | Berta |\n| --- | --- |\n| {cells} |"


@pytest.mark.parametrize(("initial", "rest", "read"), [("T", "he harbour", "The"), ("A", "harbour", "A")])
def test_large_initial_belongs_to_the_first_word(initial: str, rest: str, read: str) -> None:
    texts = [f"{rest} master kept two books, and in them", "he wrote of the ships that came to the port."]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", 34)
        canvas.drawString(72, 728, initial)
        lines(*texts, x=100)(canvas)
        lines("Nobody read the books of the harbour.", y=680)(canvas)

    beginning = f"{read} harbour master kept two books, and in them {texts[1]}"
    assert convert(drawn(draw)).text.split("\n\n") == [beginning, "Nobody read the books of the harbour."]


def test_lines_of_a_chart_do_not_divide_its_words() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.grid([100, 180, 260, 340, 420], [400, 440, 480, 520, 560])
        canvas.drawString(150, 500, "the highest point")
        canvas.drawString(350, 450, "lowest")

    assert convert(drawn(draw)).text.split("\n\n") == ["the highest point", "lowest"]


def test_turned_word_stays_whole() -> None:
    def draw(canvas: Canvas) -> None:
        lines("The load in tons by year of the harbour", x=120)(canvas)
        canvas.saveState()
        canvas.rotate(90)
        for at, letter in enumerate("sideways label"):
            canvas.drawString(400 + canvas.stringWidth("sideways label"[:at]), -80, letter)
        canvas.restoreState()

    assert convert(drawn(draw)).text.endswith("sideways label")


def test_letter_spaced_words_stay_whole() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", 10)
        canvas.drawString(72, 740, "ANNUAL REPORT", charSpace=4)
        canvas.drawString(72, 700, "ANNUAL", charSpace=4)
        canvas.drawString(150, 700, "REPORT", charSpace=4)
        for at, letter in enumerate("a b c"):
            canvas.drawString(72 + 7 * at, 660, letter)

    assert convert(drawn(draw)).text.split("\n\n") == ["ANNUAL REPORT", "ANNUAL REPORT", "a b c"]


def test_spaced_words_in_several_text_objects_stay_whole() -> None:
    """Text recognition stores spaced letters, and the end of a word as a separate text object."""

    def draw(canvas: Canvas) -> None:
        at = 72.0
        for part in ("Th", "e ", "harbou", "r ", "maste", "r ", "of ", "Klippa", "n"):
            text = canvas.beginText(at, 700)
            text.setFont("Courier", 12)
            text.setCharSpace(2)
            text.setHorizScale(72)
            text.textOut(part)
            canvas.drawText(text)
            at += 0.72 * (canvas.stringWidth(part, "Courier", 12) + 2 * len(part))

    assert convert(drawn(draw)).text == "The harbour master of Klippan"


def test_lines_between_two_rules_are_rows_of_the_table() -> None:
    rows = [["Ship", "Tons", "Cargo"], ["Anna\nBerta\nCarl", "120\n85\n60", "rye\nrope\nsalt"]]
    found = convert(story(Table(rows, colWidths=60, style=[("GRID", (0, 0), (-1, -1), 1, "black")]))).text
    head = "| Ship | Tons | Cargo |\n| --- | --- | --- |"
    assert found == f"{head}\n| Anna | 120 | rye |\n| Berta | 85 | rope |\n| Carl | 60 | salt |"


def _framed(canvas: Canvas, _document: Any) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(72, 810, "The Harbour of Klippan")
    canvas.drawRightString(523, 810, f"Section {canvas.getPageNumber()}")
    canvas.drawCentredString(300, 30, f"Page {canvas.getPageNumber()} of 4")


def test_repeated_headers_and_footers_are_omitted_and_counted() -> None:
    texts = [text for text in STORY for _ in range(2)]
    flow = [part for i, text in enumerate(texts) for part in (*paragraphs([f"{i}: {text}"]), PageBreak())]
    found = convert(story(*flow[:-1], on_page=_framed))
    assert "Harbour of Klippan" not in found.text
    assert "Page 1" not in found.text
    assert found.notes == ("skipped: 16 repeated headers, footers, and page numbers on 8 pages",)
    assert [found.text[begin:].split(":")[0] for begin in found.pages] == [str(i) for i in range(8)]


def _together(*draws: Callable[[Canvas], None]) -> Callable[[Canvas], None]:
    def draw_all(canvas: Canvas) -> None:
        for draw in draws:
            draw(canvas)

    return draw_all


INVOICES = ((4711, "120.50"), (4790, "88.00"), (5002, "88.00"), (5010, "7.90"))


def test_values_in_rows_of_equal_form_are_kept() -> None:
    pages = [
        _together(
            lines("ACME Ltd, Harbour Road 5", y=800),
            lines(f"Invoice {number}", y=780),
            lines(*STORY[at][:160].split(". "), y=700),
            lines(f"Total: {total} EUR", y=150),
            lines(f"Order 7 - {at + 1}/4", y=30),
        )
        for at, (number, total) in enumerate(INVOICES)
    ]
    found = convert(drawn(*pages))
    assert re.findall(r"Invoice (\d+)", found.text) == [str(number) for number, _ in INVOICES]
    assert re.findall(r"Total: (\S+)", found.text) == [total for _, total in INVOICES]
    assert "ACME" not in found.text
    assert "Order" not in found.text


@pytest.mark.parametrize(
    ("name", "first", "y"), [("Invoice", 1001, 780), ("Exercise", 1, 780), ("No.", 40, 60)]
)
def test_records_numbered_like_pages_are_kept(name: str, first: int, y: float) -> None:
    pages = [
        _together(
            lines(f"Page {at + 1}", y=810),
            lines(f"{name} {first + at}", y=y),
            lines(*STORY[at][:160].split(". "), y=700),
            lines(f"The Harbour {at + 1}", y=30),
        )
        for at in range(4)
    ]
    found = convert(drawn(*pages))
    assert re.findall(rf"{name} (\d+)", found.text) == [str(first + at) for at in range(4)]
    assert found.notes == ("skipped: 8 repeated headers, footers, and page numbers on 4 pages",)


def test_numbered_titles_are_kept() -> None:
    pages = [
        _together(
            lines(f"Exercise {at}", y=780, size=18),
            lines(*STORY[at - 1][:160].split(". "), y=700),
            lines(f"{at}", y=30, size=18),
        )
        for at in range(1, 5)
    ]
    found = convert(drawn(*pages))
    assert re.findall(r"# Exercise (\d)", found.text) == ["1", "2", "3", "4"]
    assert found.notes == ("skipped: 4 repeated headers, footers, and page numbers on 4 pages",)


def test_numbered_sections_are_kept() -> None:
    names = ("Introduction", "Methods", "Results", "Discussion")
    pages = [
        _together(lines(f"{at + 1} {name}", y=780), lines(*STORY[at][:160].split(". "), y=700))
        for at, name in enumerate(names)
    ]
    found = convert(drawn(*pages))
    assert re.findall(r"(\d) (Introduction|Methods|Results|Discussion)", found.text) == [
        (str(at + 1), name) for at, name in enumerate(names)
    ]
    assert found.notes == ()


def test_paragraph_after_a_page_break_does_not_continue_a_list() -> None:
    items: list[Any] = [ListItem(Paragraph(text, BODY)) for text in ("Bring the rope", "Count the lamps")]
    bullets = ListFlowable(items, bulletType="bullet")
    for before in (STORY[:1], ()):  # without a paragraph, the items define the width of their page
        flow = (*paragraphs(before), bullets, PageBreak(), *paragraphs([f"eBay sold them. {STORY[1]}"]))
        found = convert(story(*flow)).text
        assert found.endswith(f"- Bring the rope\n- Count the lamps\n\neBay sold them. {STORY[1]}")


def test_item_continues_on_the_next_page() -> None:
    long = " ".join(STORY[2].rstrip(".").split()[:-1] * 30)
    found = convert(story(*paragraphs(STORY[:2]), ListFlowable([Paragraph(long, BODY)], bulletType="bullet")))
    assert found.pages[1] > 0
    assert found.text.endswith(f"\n\n- {long}")


def test_page_starts_within_a_continued_paragraph() -> None:
    full = "the words of a paragraph that fills its line to the very end of it, and then goes on"
    found = convert(drawn(lines(full, full, y=90), lines(f"here {full}", full, y=740), lines("Last.", y=740)))
    assert found.text == f"{full} {full} here {full} {full}\n\nLast."
    assert found.pages == (0, found.text.index(" here"), found.text.index("Last."))


def test_outline_determines_heading_levels() -> None:
    def draw(canvas: Canvas) -> None:
        lines("Part One", y=760, size=10)(canvas)
        lines(*STORY[0][:160].split(". "), y=740)(canvas)
        lines("1.1 Of ships", y=600, size=10)(canvas)
        lines(STORY[1][:80], y=580)(canvas)
        canvas.bookmarkPage("a")
        canvas.bookmarkPage("b")
        canvas.addOutlineEntry("Part One", "a", 0)
        canvas.addOutlineEntry("Of ships", "b", 1)

    found = convert(drawn(draw)).text
    assert found.startswith("# Part One\n\n")
    assert "\n\n## 1.1 Of ships\n\n" in found


def test_separate_bold_lines_are_lower_headings() -> None:
    flow = [heading("Large", 1), *paragraphs(STORY[:1])]
    for text in STORY[1:]:
        flow += [Paragraph("<b>Small</b>", BODY), *paragraphs([text])]
    found = convert(story(*flow)).text
    assert found.startswith("# Large\n\n")
    assert found.count("\n\n## Small\n\n") == 3


def test_markdown_markup_at_paragraph_start_is_escaped() -> None:
    texts = ["# is no heading here.", "> is no quotation.", "<b> is a tag."]
    page = [lines(text, y=740 - 60 * i) for i, text in enumerate(texts)]

    def draw(canvas: Canvas) -> None:
        for part in page:
            part(canvas)

    found = convert(drawn(draw)).text
    assert found.split("\n\n") == [f"\\{text}" for text in texts]
    assert {block.kind for block in parse_blocks(found)} == {"paragraph"}


def test_document_properties_become_metadata() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle("The Harbour")
        canvas.setAuthor("Ann Écrivain")
        canvas.setSubject("Ships")
        canvas.setKeywords("sea, ships; books,")
        lines("Text.")(canvas)

    found = convert(drawn(draw, lang="en-GB", invariant=1))
    assert found.title == "The Harbour"
    assert found.metadata == {
        "author": "Ann Écrivain",
        "date": "2000-01-01T00:00:00+00:00",
        "subject": "Ships",
        "tags": ["sea", "ships", "books"],
        "language": "en-GB",
    }


DATA = Path(__file__).parents[3] / "data"
FILES = [*DATA.glob("*.pdf"), *(DATA / "files").glob("*.pdf")]
NUMBER = re.compile(r"\d+")


def read_simply(data: bytes) -> list[str]:
    """Return the text of each page in the order of its content."""
    with pdfium.PdfDocument(data) as document:
        return [get_visible_text(page.get_textpage().get_text_range()) for page in document]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_word_is_stored_without_invented_numbers(path: Path) -> None:
    data = path.read_bytes()
    made, simple = convert(data), read_simply(data)
    assert not [note for note in made.notes if "words of the pages" in note]
    shown = re.sub(r"!\[[^\]]*\]\([^)]*\)|^(?:#+|\d+\\?[.)]) ", " ", made.text, flags=re.MULTILINE)
    shown = unicodedata.normalize("NFKC", shown.replace("⁄", "/"))
    there = set(NUMBER.findall(unicodedata.normalize("NFKC", "\n".join(simple))))
    whole = re.sub(r"\s", "", "".join(simple))
    assert [each for each in NUMBER.findall(shown) if each not in there and each not in whole] == []
    repeated = next((note for note in made.notes if "repeated headers" in note), "")
    missing = find_missing(simple, made.text)
    assert missing is None or (repeated and missing.words < 0.05 * len(made.text.split())), missing


def test_missing_words_become_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout that loses a column leads to a note."""
    monkeypatch.setattr(pdf, "find_columns", lambda pieces, page: find_columns(pieces[::2], page))
    (note,) = convert(FILES[0].read_bytes()).notes[-1:]
    assert re.fullmatch(r'skipped: [\d,]+ words of the pages, e\.g\. ".*"', note)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"GIF89a and more", "is not a PDF"),
        (random.Random(1).randbytes(5000), "is not a PDF"),
        (b"%PDF-1.7\n" + random.Random(2).randbytes(5000), "damaged or cut off"),
        (page(["x"]).replace(b"/Root", b"/Encrypt << /Filter /Own >> /Root"), "encryption .* not supported"),
    ],
)
def test_bytes_without_pdf_structure_are_rejected(data: bytes, says: str) -> None:
    with pytest.raises(UnreadableDocument, match=says):
        convert(data)


def test_a_file_without_text_seems_to_be_scanned() -> None:
    def picture(canvas: Canvas) -> None:
        canvas.rect(100, 100, 300, 300, fill=1)

    found = convert(drawn(picture, picture))
    assert (found.text, found.pictures) == ("", (1, 2))
    with pytest.raises(UnreadableDocument, match=r"scanned.*OCR is off.*ocrmypdf"):
        add_skipped_images_note(found, "OCR is off")


WHOLE = story(*paragraphs(STORY * 4))


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=60))
def test_damaged_file_is_read_or_rejected(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, byte in changes:
        data[place] = byte
    try:
        found = convert(bytes(data))
    except UnreadableDocument:
        return
    assert found.pages[0] == 0
    assert list(found.pages) == sorted(found.pages)
    assert found.pages[-1] <= len(found.text)


TEXT = ["The licence of the crane:", "Name:", "It ends in May."]
DRAWN = "/AP << /N 8 0 R >>"
FIELDS = "/Fields [7 0 R]"


def field(entries: str, *more: bytes, form: str = FIELDS, rect: str = "150 676 350 696") -> str:
    """Return the text of a page with one field in its second line."""
    made = convert(page(TEXT, [7], [widget(entries, rect), *more], form=form))
    assert made.notes == ()
    return made.text.replace("\n\n", " | ")


def line(value: str) -> str:
    return f"The licence of the crane: | Name: {value} | It ends in May."


@pytest.mark.parametrize(
    ("entries", "drawn", "value"),
    [
        ("/FT /Tx /T (a) /V (Sample Ltd 42)", "Sample Ltd 42", "Sample Ltd 42"),
        ("/FT /Tx /T (a) /V (Sample Ltd 42)", None, "Sample Ltd 42"),
        ("/FT /Tx /T (a) /V (1234.5)", "1,234.50 EUR", "1234.5"),
        ("/FT /Tx /T (a) /V (Sample Ltd 42, harbour 7)", "Sample Ltd 42, har", "Sample Ltd 42, harbour 7"),
        ("/FT /Ch /Ff 131072 /T (a) /Opt [(Lisbon) (Porto)] /V (Porto)", "Porto", "Porto"),
        ("/FT /Ch /Ff 131072 /T (a) /Opt [[(1) (Lisbon)] [(2) (Porto)]] /V (2)", None, "Porto"),
        ("/FT /Ch /Ff 393216 /T (a) /Opt [(Lisbon)] /V (Faro)", None, "Faro"),
        (
            "/FT /Ch /Ff 2097152 /T (a) /Opt [(Lisbon) (Porto) (Faro)] /V [(Lisbon) (Faro)]",
            None,
            "Lisbon, Faro",
        ),
    ],
)
def test_form_value_is_placed_in_its_line(entries: str, drawn: str | None, value: str) -> None:
    more = () if drawn is None else (shows(drawn),)
    assert field(f"{entries} {DRAWN if more else ''}", *more) == line(value)


@pytest.mark.parametrize(
    ("entries", "read"),
    [
        ("/FT /Tx /T (a) /V (Sample Ltd 42)", "Name: Sample Ltd 42"),
        ("/FT /Ch /Ff 131072 /T (a) /Opt [(Lisbon) (Porto)] /V (Porto)", "Name: Porto"),
        ("/FT /Tx /Ff 8192 /T (a) /V (secret)", "Name:"),
        ("/FT /Tx /T (a)", "Name:"),
    ],
)
def test_value_of_a_page_taken_out_of_a_form_is_read(entries: str, read: str) -> None:
    made = convert(page(TEXT, [7], [widget(entries)]))
    assert made.text.split("\n\n") == [TEXT[0], read, TEXT[2]]


def test_value_is_inherited_from_the_field() -> None:
    parent = b"<< /FT /Tx /T (a) /V (Sample Ltd 42) /Kids [7 0 R] >>"
    assert field("/Parent 8 0 R", parent, form="/Fields [8 0 R]") == line("Sample Ltd 42")


def test_password_is_not_shown() -> None:
    assert "secret" not in field("/FT /Tx /Ff 8192 /T (a) /V (secret)")
    assert "*" not in field(f"/FT /Tx /Ff 8192 /T (a) /V (secret) {DRAWN}", shows("******"))


@pytest.mark.parametrize("flags", [2, 32])
def test_hidden_form_field_is_omitted(flags: int) -> None:
    data = page(
        TEXT, [7], [widget(f"/FT /Tx /T (a) /V (hidden 42) {DRAWN}"), shows("hidden 42")], form=FIELDS
    )
    assert "42" not in convert(data.replace(b"/F 4 ", b"/F %d " % flags)).text


@pytest.mark.parametrize(("state", "mark"), [("Yes", "☒"), ("Off", "☐")])
def test_box_is_checked_or_not(state: str, mark: str) -> None:
    drawn = "/AP << /N << /Yes 8 0 R /Off 9 0 R >> >>"
    entries = f"/FT /Btn /T (a) /V /{state} /AS /{state} {drawn}"
    made = field(entries, shows("4"), appearance(""), rect="110 676 122 688")
    assert made == line(mark)


def test_chosen_radio_button_is_marked() -> None:
    button = "/Parent 9 0 R /AS /{} /AP << /N << /{} 10 0 R >> >>"
    objects = [
        widget(button.format("a", "a"), "110 676 122 688"),
        widget(button.format("Off", "b"), "110 636 122 648"),
        b"<< /FT /Btn /Ff 49152 /T (pier) /V /a /Kids [7 0 R 8 0 R] >>",
        shows("l"),
    ]
    text = convert(page(["Pier", "East", "West"], [7, 8], objects, form="/Fields [9 0 R]")).text
    assert [each for each in text.replace("\n\n", "\n").split("\n") if each] == ["Pier", "East ☒", "West ☐"]


@pytest.mark.parametrize(
    ("shown", "form"),
    [
        (widget(f"/FT /Sig /T (a) {DRAWN}"), FIELDS),
        (widget(f"/FT /Btn /Ff 65536 /T (a) {DRAWN}"), FIELDS),
        (annotation("Stamp", DRAWN), None),
        (annotation("FreeText", DRAWN), None),
    ],
    ids=["signature", "button", "stamp", "text"],
)
def test_what_is_only_drawn_is_noted(shown: bytes, form: str | None) -> None:
    made = convert(page(TEXT, [7], [shown, shows("Signed by Ada on 7 May")], form=form))
    assert made.notes == ("skipped: signatures, stamps, and buttons that are only drawn (1)",)


@pytest.mark.parametrize(
    ("kind", "entries", "drawn"),
    [
        ("FreeText", "/Contents (Moved to sheet 9) /DA (/F1 12 Tf 0 g)", "Moved to sheet 9"),
        ("FreeText", "/Contents (Moved to sheet 9) /DA (/F1 12 Tf 0 g)", None),
        ("Stamp", "/Contents (Moved to sheet 9)", None),
    ],
)
def test_text_on_the_page_is_read(kind: str, entries: str, drawn: str | None) -> None:
    shown = annotation(kind, f"{entries} {DRAWN if drawn else ''}", "72 690 272 710")
    made = convert(page(["Plan of the harbour", "approved by the board"], [7], [shown, shows(drawn or "")]))
    assert " ".join(made.text.split()) == "Plan of the harbour Moved to sheet 9 approved by the board"
    assert made.notes == ()


def test_comments_are_counted_with_an_example() -> None:
    objects = [
        annotation("Text", "/Contents (It must be 7 May)"),
        annotation("Highlight", "/Contents (Ask the board)"),
        annotation("Highlight", ""),
        annotation("Popup", "/Contents (It must be 7 May)"),
        annotation("Text", "/Contents (deleted) /F 2"),
        annotation("Link", "/Contents (a link)"),
    ]
    made = convert(page(["The meeting is on 6 May"], range(7, 13), objects))
    assert made.text == "The meeting is on 6 May"
    assert made.notes == ('skipped: 2 comments on page 1, e.g. "It must be 7 May"',)


def test_xfa_form_is_reported() -> None:
    made = convert(page(["Please wait"], [], [b"(x)"], form="/Fields [] /XFA 7 0 R"))
    assert [each.partition(".")[0] for each in made.notes] == ["skipped: the content of the XFA form"]


def test_numbers_of_lines_do_not_interrupt_the_text() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(1, 11):
            canvas.drawString(60, 740 - 16 * number, f"{number}")
        lines(
            "The crane of the harbour broke in the storm of May,", "and nobody has repaired it since.", y=700
        )(canvas)

    text = convert(drawn(draw)).text.replace("\n", " ")
    assert "broke in the storm of May, and nobody has repaired it since." in text
    assert "1 2 3 4 5 6 7 8 9 10" in text


def test_numbers_below_each_other_are_not_joined() -> None:
    def draw(canvas: Canvas) -> None:
        for at, number in enumerate(("17", "4", "25")):
            canvas.drawString(300, 700 - 12 * at, number)
        lines("Anna", "Berta", "Carl", y=700)(canvas)

    rows = "| Anna | 17 |\n| --- | --- |\n| Berta | 4 |\n| Carl | 25 |"
    assert convert(drawn(draw)).text == rows
