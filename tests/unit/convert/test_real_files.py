"""Real files of packages: sentences that other readers take from them, their pages and headings.

The sentences were read by pdftotext, the files' own XML and Python's parsers, as `benchmarks.mixed_folder`
reads them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import NotRequired, TypedDict, cast

import pytest

from kg_api.convert import epub, mail, notebook, pdf, pptx, spreadsheet
from kg_api.convert.docx import document as docx
from kg_api.convert.html import page
from kg_api.schemas.documents import Converted
from kg_api.text.markdown import blocks

FILES = Path(__file__).parents[2] / "data" / "files"
SIGNS = r"[\W_]+"
CONVERT: dict[str, Callable[[bytes], Converted]] = {
    ".pdf": pdf.convert,
    ".html": page.convert,
    ".epub": epub.convert,
    ".docx": docx.convert,
    ".pptx": pptx.convert,
    ".xlsx": spreadsheet.convert,
    ".ods": spreadsheet.convert,
    ".eml": mail.convert,
    ".ipynb": notebook.convert,
}


class Expected(TypedDict):
    sentences: list[str]
    headings: list[str]
    pages: NotRequired[list[int]]


EXPECTED = cast("dict[str, Expected]", json.loads((FILES / "expected.json").read_text("utf-8")))


@pytest.mark.parametrize("name", EXPECTED)
def test_content_of_real_files_is_preserved(name: str) -> None:
    path, expected = FILES / name, EXPECTED[name]
    got = CONVERT[path.suffix](path.read_bytes())
    places = [places_of(sentence, got.text) for sentence in expected["sentences"]]
    assert expected["sentences"]
    assert [] not in places, expected["sentences"][places.index([])]
    headings = {
        got.text[each.start : each.end].strip() for each in blocks(got.text) if each.kind == "heading"
    }
    assert not set(expected["headings"]) - headings
    for page_, found in zip(expected.get("pages", []), places, strict=False):
        assert page_ in {bisect_right(got.pages, place) for place in found}


def places_of(sentence: str, text: str) -> list[int]:
    words = map(re.escape, re.findall(r"[^\W_]+", sentence.casefold()))
    pattern = rf"(?<![^\W_]){SIGNS.join(words)}(?![^\W_])"
    return [found.start() for found in re.finditer(pattern, text.casefold())]
