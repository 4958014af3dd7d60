from __future__ import annotations

import io
from datetime import datetime
from typing import Any, cast

import docx

from kg_api.convert.docx.document import convert
from tests.unit.convert.gate import assert_in_order, assert_refuses_bad_bytes, kinds


def document(*, words: bool = True) -> bytes:
    made, out = cast("Any", docx).Document(), io.BytesIO()
    if words:
        made.add_heading("Boiling water", 0)
        made.add_heading("The kettle", 2)
        text = made.add_paragraph("A ")
        text.add_run("bo").bold = True
        text.add_run("ld word, Grüße &").italic = True
        text.add_run(" more\twords\nin lines.")
        for style, item in (("List Bullet", "one"), ("List Bullet 2", "two"), ("List Number", "three")):
            made.add_paragraph(item, style=style)
        table = made.add_table(rows=3, cols=2)
        for at, cell in enumerate(("Tea", "Price", "Green", "3 | 4", "Black", "two\nlines")):
            table.cell(at // 2, at % 2).text = cell
        made.add_paragraph("# The end")
        made.add_comment(text.runs[0], text="A remark", author="Bob")
        made.sections[0].header.paragraphs[0].text = "Letter head"
    about = made.core_properties
    about.title, about.author, about.keywords, about.subject = "Water", "Ann Lee", "tea, water", "Kettles"
    about.created = datetime(2024, 3, 5, 10, 0)  # noqa: DTZ001 - as the format has it
    made.save(out)
    return out.getvalue()


def test_a_document_as_markdown() -> None:
    got = convert(document())
    assert got.text == (
        "# Boiling water\n\n## The kettle\n\nA bold word, Grüße & more words in lines.\n\n"
        "- one\n- two\n\n1. three\n\n"
        "| Tea | Price |\n| --- | --- |\n| Green | 3 \\| 4 |\n| Black | two lines |\n\n\\# The end\n"
    )
    assert got.title == "Water"
    assert {key: got.metadata[key] for key in ("author", "date", "tags", "subject")} == {
        "author": "Ann Lee",
        "date": "2024-03-05T10:00:00+00:00",
        "tags": ["tea", "water"],
        "subject": "Kettles",
    }
    assert got.notes == ("skipped: comments (1)", "skipped: words of page headers and footers (2)")
    assert kinds(got.text)[:3] == ["heading", "heading", "paragraph"]
    assert_in_order(got, ["Boiling water", "bold word, Grüße", "one", "two", "three", "Green", "The end"])


def test_values_of_the_template_are_no_metadata() -> None:
    made, out = docx.Document(), io.BytesIO()
    made.add_paragraph("The kettle boils.")
    assert made.core_properties.author == "python-docx"
    made.save(out)
    assert convert(out.getvalue()).metadata.keys().isdisjoint({"author", "date", "modified", "description"})


def test_invalid_bytes_are_rejected() -> None:
    assert_refuses_bad_bytes(convert, document())
