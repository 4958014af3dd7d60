"""What files say, read by other means than kg's: sentences that a person could take from them, by page."""

from __future__ import annotations

import csv
import email
import email.policy
import html
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from defusedxml import ElementTree

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
"""It is metadata, and no passage."""
_PROSE = 0.7
"""Of the words of a sentence of a PDF: made of letters, three or more. Rows of tables, numbers of lines and
formulas have no order that two readers must share, and a person takes none of them for a sentence."""
_UNREAD = frozenset({"nav", "header", "footer", "aside", "script", "style", "form", "pre", "svg", "math"})


class Said(NamedTuple):
    """A paragraph of a file."""

    text: str
    page: int | None = None


class _Paragraphs(HTMLParser):
    """The text of each paragraph that holds no other."""

    def __init__(self) -> None:
        super().__init__()
        self.found = list[str]()
        self._unread = 0
        self._open: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._unread += tag in _UNREAD
        if tag == "p":
            self._open = []

    def handle_endtag(self, tag: str) -> None:
        self._unread = max(0, self._unread - (tag in _UNREAD))
        if tag == "p" and self._open is not None:
            self.found.append("".join(self._open))
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None and not self._unread:
            self._open.append(data)


_ADDRESS = re.compile(r"<?\b(?:https?://|mailto:)[^\s<>]+>?")
_ANNOTATION = re.compile(rb"<office:annotation\b.*?</office:annotation>", re.DOTALL)


def said(path: Path) -> list[Said]:
    """The paragraphs of a file; none where its kind is not known here."""
    read = READERS.get(path.suffix.lower())
    return list(read(path)) if read else []


def sentences(path: Path, least: int = 6, most: int = 25) -> list[Said]:
    """Sentences of so many words, none twice."""
    found = dict[str, Said]()
    for paragraph in said(path):
        for sentence in _SENTENCE_ENDS.split(" ".join(paragraph.text.split())):
            if least <= len(words(sentence)) <= most:
                found.setdefault(" ".join(words(sentence)), Said(sentence, paragraph.page))
    return list(found.values())


def vocabulary(path: Path) -> set[str]:
    """All words of a file whose text can be seen in it, and of others those of its paragraphs."""
    kind = path.suffix.lower()
    if kind in {".html", ".htm", ".xhtml"}:
        return _in_markup(path.read_text("utf-8", "replace"))
    if kind == ".epub":
        with zipfile.ZipFile(path) as book:
            pages = [name for name in book.namelist() if name.endswith(("html", ".htm", ".opf", ".ncx"))]
            return set().union(*(_in_markup(book.read(name).decode("utf-8", "replace")) for name in pages))
    if kind == ".pdf":
        text = _pdf_text(path)
        return {*words(text), *words(re.sub(r"[-\u00ad\u2010]\s*\n\s*", "", text))}
    if kind == ".ipynb":
        return set(words(json.dumps(json.loads(path.read_text("utf-8")), ensure_ascii=False)))
    return {word for each in said(path) for word in words(each.text)}


def _in_markup(text: str) -> set[str]:
    bare = (re.sub(r"<[^>]*>", between, text) for between in ("", " "))
    return {word for each in bare for word in words(html.unescape(each))}


def words(text: str) -> list[str]:
    """Its words in lower case, without signs."""
    return re.findall(r"[^\W_]+", text.casefold())


def _pdf_text(path: Path) -> str:
    program = shutil.which("pdftotext")
    if program is None:
        raise SystemExit("pdftotext (poppler-utils) is needed to compare with")
    read = subprocess.run([program, "-enc", "UTF-8", path, "-"], check=False, stdout=subprocess.PIPE)
    return read.stdout.decode("utf-8", "replace")


def _pdf(path: Path) -> Iterator[Said]:
    for page, text in enumerate(_pdf_text(path).split("\f"), 1):
        for each in _PARAGRAPHS.split(text):
            if not re.search(r"[-\u00ad]\n", each):  # a word that a line end divides may be one or two
                yield from (Said(part, page) for part in _SENTENCE_ENDS.split(each) if _is_prose(part))


def _is_prose(text: str) -> bool:
    found = words(text)
    letters = sum(len(word) > 2 and word.isalpha() for word in found)
    return letters >= _PROSE * len(found) and not re.search(r"[\\{};=]|\. ?\. ?\.", text)


def _html(path: Path) -> Iterator[Said]:
    yield from map(Said, _paragraphs(path.read_text("utf-8", "replace")))


def _paragraphs(text: str) -> list[str]:
    parser = _Paragraphs()
    parser.feed(text)
    return parser.found


def _epub(path: Path) -> Iterator[Said]:
    with zipfile.ZipFile(path) as book:
        for name in book.namelist():
            if name.endswith((".xhtml", ".html", ".htm")) and "nav" not in name and "toc" not in name:
                yield from map(Said, _paragraphs(book.read(name).decode("utf-8", "replace")))


def _by_tag(data: bytes, paragraph: str, text: str | None) -> Iterator[str]:
    """The text of each element that ends so, of all or of those that end otherwise."""
    for each in ElementTree.fromstring(data).iter():
        if each.tag.endswith(paragraph):
            yield (
                "".join(
                    " " if part.tag.endswith("}br") else part.text or ""
                    for part in each.iter()
                    if part.tag.endswith((text, "}br"))
                )
                if text
                else "".join(each.itertext())
            )


def _docx(path: Path) -> Iterator[Said]:
    with zipfile.ZipFile(path) as parts:
        yield from map(Said, _by_tag(parts.read("word/document.xml"), "}p", "}t"))


def _pptx(path: Path) -> Iterator[Said]:
    with zipfile.ZipFile(path) as parts:
        for name in parts.namelist():
            if found := re.fullmatch(r"ppt/slides/slide(\d+)\.xml", name):
                yield from (Said(text, int(found[1])) for text in _by_tag(parts.read(name), "}p", "}t"))


def _xlsx(path: Path) -> Iterator[Said]:
    with zipfile.ZipFile(path) as parts:
        if "xl/sharedStrings.xml" in parts.namelist():
            yield from map(Said, _by_tag(parts.read("xl/sharedStrings.xml"), "}si", "}t"))


def _ods(path: Path) -> Iterator[Said]:
    with zipfile.ZipFile(path) as parts:
        content = _ANNOTATION.sub(b"", parts.read("content.xml"))  # comments are counted in a note
        yield from map(Said, _by_tag(content, "}p", None))


def _csv(path: Path) -> Iterator[Said]:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from (Said(cell) for row in csv.reader(file, delimiter=delimiter) for cell in row)


def _eml(path: Path) -> Iterator[Said]:
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    body = message.get_body(("plain",))
    if body is not None:
        # Where a mail is HTML too, the addresses behind its links are shown to nobody.
        yield from map(Said, _PARAGRAPHS.split(_ADDRESS.sub(" ", body.get_content())))


def _ipynb(path: Path) -> Iterator[Said]:
    for cell in json.loads(path.read_text("utf-8")).get("cells", []):
        if cell.get("cell_type") == "markdown":
            yield from map(Said, _PARAGRAPHS.split("".join(cell.get("source", ""))))


def _text(path: Path) -> Iterator[Said]:
    yield from map(Said, _PARAGRAPHS.split(_FRONT_MATTER.sub("", path.read_text("utf-8", "replace"))))


READERS: dict[str, Callable[[Path], Iterator[Said]]] = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    **dict.fromkeys((".csv", ".tsv"), _csv),
    **dict.fromkeys((".md", ".rst", ".txt", ".py", ".org"), _text),
    ".pdf": _pdf,
    ".epub": _epub,
    ".docx": _docx,
    ".pptx": _pptx,
    ".xlsx": _xlsx,
    ".ods": _ods,
    ".eml": _eml,
    ".ipynb": _ipynb,
}
