"""Real files of packages: sentences that other readers take from them, their pages and headings.

The sentences were read by pdftotext, the files' own XML and Python's parsers, as `benchmarks.mixed_folder`
reads them.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

import pytest

from kg_api.convert import epub, mail, notebook, pdf, pptx, spreadsheet
from kg_api.convert.docx import document as docx
from kg_api.convert.html import page
from kg_api.convert.shared.accounting import find_missing
from kg_api.schemas.documents import Converted
from kg_api.text.markdown import blocks
from tests.unit.convert.gate import assert_refuses_bad_bytes
from tests.unit.convert.readers import find_invented_numbers, read_epub, read_html, read_mail, read_notebook

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


SMALLEST = {
    path.suffix: path for path in sorted(FILES.iterdir(), key=lambda path: path.stat().st_size, reverse=True)
}


@pytest.mark.parametrize("suffix", [".html", ".epub", ".docx", ".pptx", ".xlsx", ".eml"])
def test_invalid_bytes_are_rejected(suffix: str) -> None:
    assert_refuses_bad_bytes(CONVERT[suffix], SMALLEST[suffix].read_bytes())


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


TOLD = re.compile(r"\(?([\d,]+) words?\b")
LANGUAGE = re.compile(r"^`{3,}\S+$", re.MULTILINE)
NAMES = sorted(path.name for path in FILES.iterdir() if path.suffix in {".html", ".epub", ".eml", ".ipynb"})


def convert_file(name: str) -> tuple[Converted, str]:
    data = (FILES / name).read_bytes()
    if name.endswith(".html"):
        return page.convert(data), read_html(data.decode())
    if name.endswith(".epub"):
        return epub.convert(data), read_epub(data)
    if name.endswith(".eml"):
        got = mail.convert(data)
        return got, read_mail(data, got.text)
    return notebook.convert(data), read_notebook(data)


@pytest.mark.parametrize("name", NAMES)
def test_real_file_is_complete_without_invented_numbers(name: str) -> None:
    got, shown = convert_file(name)
    assert_complete(got, shown)


def assert_complete(got: Converted, shown: str) -> None:
    """If words are missing, the notes should have the correct number."""
    missing = find_missing(shown.split("\n"), got.text)
    told = sum(int(count.replace(",", "")) for note in got.notes for count in TOLD.findall(note))
    assert missing is None or missing.words <= told, missing
    assert find_invented_numbers(shown, LANGUAGE.sub("", got.text)) == set()


PAGES = tomllib.loads((FILES.parent / "visible_pages.toml").read_text("utf-8"))["page"]


@pytest.mark.parametrize("page_", PAGES, ids=[each["name"] for each in PAGES])
def test_html_contains_the_visible_text(page_: dict[str, Any]) -> None:
    got = page.convert(f"<meta charset=utf-8>{page_['source']}".encode())
    assert got.text == page_["text"]
    assert got.notes == tuple(page_.get("notes", ()))
    if not page_.get("beyond_reader"):
        assert_complete(got, read_html(page_["source"]))
