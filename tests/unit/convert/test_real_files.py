"""Real files of packages: sentences that other readers take from them, their pages and headings.

The sentences were read by pdftotext, the files' own XML and Python's parsers, as `benchmarks.mixed_folder`
reads them.
"""

import io
import json
import re
import tomllib
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast
from xml.etree.ElementTree import fromstring

import openpyxl
import pytest
from lxml.html import document_fromstring

from kg_api.convert import epub, mail, notebook, pdf, pptx, spreadsheet
from kg_api.convert.docx import document as docx
from kg_api.convert.html import page
from kg_api.convert.ooxml.package import WORD_PARTS, Package
from kg_api.convert.shared.accounting import describe_missing, find_missing
from kg_api.schemas.documents import Converted
from kg_api.text.markdown import parse_blocks
from tests.unit.convert.gate import assert_refuses_bad_bytes
from tests.unit.convert.word_files import paragraph, run, text_box, word_file

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
        got.text[each.start : each.end].strip() for each in parse_blocks(got.text) if each.kind == "heading"
    }
    assert not set(expected["headings"]) - headings
    for page_, found in zip(expected.get("pages", []), places, strict=False):
        assert page_ in {bisect_right(got.pages, place) for place in found}


def places_of(sentence: str, text: str) -> list[int]:
    words = map(re.escape, re.findall(r"[^\W_]+", sentence.casefold()))
    pattern = rf"(?<![^\W_]){SIGNS.join(words)}(?![^\W_])"
    return [found.start() for found in re.finditer(pattern, text.casefold())]


TOLD = re.compile(r"\(?([\d,]+) words?\b")
LANGUAGE_OR_NUMBER = re.compile(r"^`{3,}\S+$|^ *\d+\. ", re.MULTILINE)
NAMES = sorted(path.name for path in FILES.iterdir() if path.suffix in {".html", ".epub", ".eml", ".ipynb"})
NOT_SHOWN = (
    "//head|//script|//style|//nav|//header|//footer|//aside|//svg"
    "|//*[contains(@class, 'headerlink') or contains(@class, 'viewcode')]"
)


def read_html(page: bytes) -> str:
    tree = document_fromstring(page)
    for element in tree.xpath(NOT_SHOWN):
        element.drop_tree()
    return "\n".join(tree.xpath("//text()"))


def read_epub(data: bytes) -> str:
    archive = zipfile.ZipFile(io.BytesIO(data))
    names = [each for each in archive.namelist() if each.endswith("html") and "nav" not in each]
    return "\n".join(read_html(archive.read(each)) for each in names)


def read_mail(data: bytes) -> str:
    """Return the text of all parts, of alternatives too."""
    texts: list[str] = []
    for each in message_from_bytes(data, policy=policy.default).walk():
        texts += [str(each[name] or "") for name in ("subject", "from", "to", "cc", "date")]
        if each.get_content_type() in {"text/plain", "text/html"} and not each.is_attachment():
            text = each.get_content()
            texts.append(read_html(text.encode()) if each.get_content_subtype() == "html" else text)
    return "\n".join(texts)


def read_notebook(data: bytes) -> str:
    cells = json.loads(data)["cells"]
    outputs = [each for cell in cells for each in cell.get("outputs", [])]
    lists = [cell["source"] for cell in cells]
    lists += [[*each.get("text", []), *each.get("data", {}).get("text/plain", [])] for each in outputs]
    lists += [[each.get("ename", ""), " ", each.get("evalue", "")] for each in outputs]
    return "\n".join("".join(lines) for lines in lists)


READ = {".html": read_html, ".epub": read_epub, ".eml": read_mail, ".ipynb": read_notebook}


@pytest.mark.parametrize("name", NAMES)
def test_real_file_is_complete_without_invented_numbers(name: str) -> None:
    """The notes have the number of missing words."""
    data, suffix = (FILES / name).read_bytes(), Path(name).suffix
    got, shown = CONVERT[suffix](data), READ[suffix](data)
    missing = find_missing(shown.split("\n"), got.text)
    told = sum(int(count.replace(",", "")) for note in got.notes for count in TOLD.findall(note))
    assert missing is None or missing.words <= told, missing
    assert numbers(LANGUAGE_OR_NUMBER.sub("", got.text)) <= numbers(shown)


PAGES = tomllib.loads((FILES.parent / "visible_pages.toml").read_text("utf-8"))["page"]


@pytest.mark.parametrize("page_", PAGES, ids=[each["name"] for each in PAGES])
def test_html_contains_the_visible_text(page_: dict[str, Any]) -> None:
    got = page.convert(f"<meta charset=utf-8>{page_['source']}".encode())
    assert (got.text, got.notes) == (page_["text"], tuple(page_.get("notes", ())))


def get_numbers(archive: zipfile.ZipFile) -> set[str]:
    nodes = (
        node.text or ""
        for name in archive.namelist()
        if name.endswith(".xml") and re.match(r"(?:word|ppt)/", name)
        for node in fromstring(archive.read(name)).iter()  # noqa: S314 - from this repository
        if str(node.tag).endswith(("}t", "}v"))
    )
    return {number.lstrip("0") for text in nodes for number in re.findall(r"\d+", text)}


@pytest.mark.parametrize(
    "name", sorted(path.name for path in FILES.iterdir() if path.suffix in {".docx", ".pptx"})
)
def test_document_or_deck_is_complete(name: str) -> None:
    data = (FILES / name).read_bytes()
    made = CONVERT[Path(name).suffix](data)
    assert not [each for each in made.notes if re.search("words? of the (document|slides), e.g.", each)]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = re.sub(r"^## Slide \d+$", "", made.text, flags=re.MULTILINE)
        assert {number.lstrip("0") for number in re.findall(r"\d+", text)} <= get_numbers(archive)


def test_text_that_a_converter_loses_is_noted() -> None:
    data = word_file(paragraph(run("Near") + text_box(paragraph(run("40 tons")))))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert describe_missing(Package(archive).read_pieces(WORD_PARTS), "Near\n", "the document") == (
            'skipped: 2 words of the document, e.g. "40 tons"',
        )


@pytest.mark.parametrize(
    ("pieces", "text", "missing"),
    [
        (["Load limit", "40 tons"], "# Load limit\n\n40 tons\n", None),
        (["Ordinary box", "The load limit is 40 tons"], "Ordinary box\n", (6, "The load limit is 40 tons")),
        (["4711", "4711"], "4711", (1, "4711")),
        (["10", "6", "Kla", "mmer"], "10^6 Klammer", None),
        (["Klammer"], "Klam mer", None),
        (["ﬁle ２０２４"], "file 2024", None),
        (["三つのク\nレーン"], "三つのクレーン", None),
    ],
    ids=["complete", "box", "once of twice", "joined", "torn", "compatible forms", "lines of CJK"],
)
def test_missing_words_are_counted_with_an_example(
    pieces: list[str], text: str, missing: tuple[int, str] | None
) -> None:
    found = find_missing(pieces, text)
    assert (found and (found.words, found.example)) == missing


def read_book(data: bytes) -> Iterator[str]:
    for sheet in openpyxl.load_workbook(io.BytesIO(data), data_only=True):
        for line in sheet.iter_rows(values_only=True):
            yield from (str(value) for value in line if value is not None)


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,:]\d+)*", text))


@pytest.mark.parametrize("name", sorted(path.name for path in FILES.glob("*.xlsx")))
def test_every_workbook_word_is_stored_without_invented_numbers(name: str) -> None:
    data = (FILES / name).read_bytes()
    pieces, got = list(read_book(data)), spreadsheet.convert(data)
    assert pieces
    assert find_missing(pieces, got.text) is None
    assert numbers(re.sub("(?m)^##.*", "", got.text)) <= numbers(" ".join(pieces))
