from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kg_api.convert import epub, mail, notebook
from kg_api.convert.html import page
from kg_api.convert.shared.accounting import find_missing
from kg_api.schemas.documents import Converted
from tests.unit.convert.readers import find_invented_numbers, read_epub, read_html, read_mail, read_notebook

TOLD = re.compile(r"\(?([\d,]+) words?\b")
LANGUAGE = re.compile(r"^`{3,}\S+$", re.MULTILINE)
FILES = Path(__file__).parents[2] / "data" / "files"
NAMES = sorted(path.name for path in FILES.iterdir() if path.suffix in {".html", ".epub", ".eml", ".ipynb"})


def convert(name: str) -> tuple[Converted, str]:
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
    got, shown = convert(name)
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
