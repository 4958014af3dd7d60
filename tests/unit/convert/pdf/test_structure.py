from typing import Any

from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import ListFlowable, ListItem, PageBreak, Paragraph, Table

from kg_api.convert.pdf import convert
from kg_api.text.markdown import blocks
from tests.unit.convert.pdf.files import BODY, STORY, drawn, heading, lines, listing, paragraphs, story

CODE = 'def hello(name):\n    if name:\n        print("Hello", name)\n\n    return  1   # two blanks'


def test_lists_keep_their_marks() -> None:
    long = (
        "Bring the rope to the boat and make it fast to both of the rings, as the book of the harbour says it"
    )
    items: list[Any] = [
        ListItem(Paragraph(text, BODY)) for text in (long, "Count the lamps", "Close the door")
    ]
    bullets, numbers = ListFlowable(items, bulletType="bullet"), ListFlowable(items, bulletFormat="%s.")
    found = convert(story(*paragraphs(STORY[:1]), bullets, *paragraphs(STORY[1:2]), numbers)).text
    assert found.split("\n\n") == [
        STORY[0],
        f"- {long}\n- Count the lamps\n- Close the door",
        STORY[1],
        f"1. {long}\n2. Count the lamps\n3. Close the door",
    ]
    assert [block.kind for block in blocks(found)].count("list_item") == 6


def test_code_keeps_its_lines_and_indentation() -> None:
    found = convert(story(*paragraphs(STORY[:2]), listing(CODE), *paragraphs(STORY[2:])))
    assert f"\n\n```\n{CODE}\n```\n\n" in found.text


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
    assert found.count("\n\n## Small\n\n") in {
        0,
        3,
    }  # all or none: the room above them is that of a paragraph


def test_markdown_markup_at_paragraph_start_is_escaped() -> None:
    texts = ["# is no heading here.", "> is no quotation.", "<b> is a tag."]
    page = [lines(text, y=740 - 60 * i) for i, text in enumerate(texts)]

    def draw(canvas: Canvas) -> None:
        for part in page:
            part(canvas)

    found = convert(drawn(draw)).text
    assert found.split("\n\n") == [f"\\{text}" for text in texts]
    assert {block.kind for block in blocks(found)} == {"paragraph"}


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
