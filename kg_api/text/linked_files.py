"""Image references of a document: detection, local files, and data URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import posixpath
import re
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import compress, pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes

from kg_api.errors import KgError, UnreadableDocument
from kg_api.schemas.documents import Block
from kg_api.schemas.formats import Format
from kg_api.text.cutting import line_borders
from kg_api.text.decoding import declared_encoding, decode, decode_declared, is_image
from kg_api.text.documents import detect_format
from kg_api.text.markdown import blocks, read_front_matter

Span = tuple[int, int]  # (start, end)

_HIDING = re.compile(r"<(!--|(?:script|style|textarea|pre|code)\b)", re.IGNORECASE)
_ENDS = {
    "!--": re.compile("-->"),
    **{
        tag: re.compile(f"</{tag}[^<>]{{0,9}}>?", re.IGNORECASE)
        for tag in ("script", "style", "textarea", "pre", "code")
    },
}
_CODE = re.compile(r"\\[\\`]|(?P<shown>(?<!`)(`+)(?!`)[\s\S]{1,2000}?(?<!`)\2(?!`)|<!--[\s\S]{0,2000}?-->)")
"""Inline code and comments. A backtick without its pair within 2,000 characters is a plain character."""


def shown_in_markdown(text: str, places: Sequence[int]) -> list[Span]:
    """Return spans of front matter, code, and comments that matter for image references at `places`."""
    front = read_front_matter(text).end
    spans = [(0, front)] if front else []
    for block in blocks(text, front) if places else ():
        at = bisect_right(places, block.start - 1)
        if at < len(places) and places[at] < block.end:
            spans += _in_block(text, block)
    return spans


def shown_in_html(text: str, begin: int = 0, end: int | None = None) -> list[Span]:
    """Return the spans of comments, scripts, and code, in order. Unclosed code hides nothing."""
    spans, unclosed = list[Span](), set[str]()
    at, stop = begin, len(text) if end is None else end
    while found := _HIDING.search(text, at, stop):
        tag = found[1].lower()
        ending = None if tag in unclosed else _ENDS[tag].search(text, found.start() + 2, stop)
        at = ending.end() if ending else found.end() if tag in {"pre", "code"} else stop
        if ending or at == stop:
            spans.append((found.start(), at))
        else:
            unclosed.add(tag)
    return spans


def outside(starts: Iterable[int], spans: Sequence[Span]) -> Iterator[bool]:
    begins = [begin for begin, _ in spans]
    for start in starts:
        at = bisect_right(begins, start) - 1
        yield at < 0 or start >= spans[at][1]


def _in_block(text: str, block: Block) -> Iterator[Span]:
    if block.kind == "code":
        yield block.start, block.end
    elif block.kind in {"markup", "other"}:
        yield from shown_in_html(text, block.start, block.end)
    else:
        lines = [block.start, block.end]
        if block.kind == "table":  # inline code ends with its row
            lines[1:1] = line_borders(text, block.start, block.end)
        for begin, end in pairwise(lines):
            yield from (found.span() for found in _CODE.finditer(text, begin, end) if found["shown"])


# Relative image references

MAX_REFERENCES = 500  # images per document
MAX_LENGTH = 1000
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\#?]|$")  # start of a URL that is not a relative path
_NETWORK = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ALT = r"!\[(?P<alt>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,500}\]){0,2000})\]"
_TITLE = r"""(?:\s{1,9}(?:"[^"]{0,1000}"|'[^']{0,1000}'|\([^()]{0,1000}\)))?"""
_TARGET = (
    r"(?:<(?P<angled>[^<>\n]{1,2000})>|(?P<bare>[^\s()<>]{1,2000}(?:\([^\s()]{0,200}\)[^\s()]{0,1000}){0,9}))"
)
_MARKDOWN = re.compile(
    rf"{_ALT}(?:\(\s{{0,9}}{_TARGET}{_TITLE}\s{{0,9}}\)|(?:\[(?P<label>[^\[\]]{{0,500}})\])?)"
)
_DEFINITION = re.compile(
    r"^ {0,3}\[([^\[\]]{1,500})\]:[ \t]*(?:<([^<>\n]{1,2000})>|(\S{1,2000}))", re.MULTILINE
)
_TAG = re.compile(r"<img\b(?P<attributes>[^<>]{0,8000})>", re.IGNORECASE)
_SOURCE = re.compile(r"""(?:^|\s)src\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


class ImageReference(NamedTuple):
    """Image reference at text[start:end]."""

    start: int
    end: int
    key: str


def normalize_reference(reference: str) -> str | None:
    """Return the unquoted path of a relative reference, with `/` and no query (other references: None)."""
    plain = unquote(reference.strip().partition("#")[0].partition("?")[0]).replace("\\", "/")
    if _ELSEWHERE.match(reference.strip()) or _ELSEWHERE.match(plain) or _CONTROL.search(plain):
        return None
    path = posixpath.normpath(plain)
    return path if len(path) <= MAX_LENGTH and path not in {".", ".."} else None


def build_reference(key: str) -> str:
    return quote(key)


def references(text: str, form: Format) -> tuple[str, ...]:
    """Return the keys of the images in a document, each once and in order."""
    if form not in {"markdown", "html"}:
        return ()
    found = mentions_in_tags(text) if form == "html" else mentions(text)
    return tuple(dict.fromkeys(each.key for each in found))[:MAX_REFERENCES]


def mentions(text: str) -> Iterator[ImageReference]:
    """Yield the images of a Markdown text, in Markdown or HTML syntax, outside code and comments."""
    return _iterate_local_references(_but_shown(text, _named(text)))


def mentions_in_tags(text: str) -> Iterator[ImageReference]:
    """Yield the images of an HTML text, outside comments, scripts, and code."""
    found = list(_in_tags(text))
    visible = shown_in_html(text) if found else []
    return _iterate_local_references(compress(found, outside((each.start for each in found), visible)))


def count_remote_images(text: str) -> int:
    found = [each for each in _named(text) if _NETWORK.match(each.key)] if "//" in text else []
    return len({each.key for each in _but_shown(text, found)})


def _iterate_local_references(found: Iterable[ImageReference]) -> Iterator[ImageReference]:
    for each in found:
        if key := normalize_reference(each.key):
            yield each._replace(key=key)


def _but_shown(text: str, some: Iterable[ImageReference]) -> Iterator[ImageReference]:
    """Yield the references of a Markdown text outside front matter, code, and comments, in order."""
    found = sorted(some)
    starts = [each.start for each in found]
    return compress(found, outside(starts, shown_in_markdown(text, starts)))


def _named(text: str) -> Iterator[ImageReference]:
    """Yield all possible images, with their references as written."""
    if "![" in text:
        labels = (
            {_label(each[1]): each[2] or each[3] for each in reversed(list(_DEFINITION.finditer(text)))}
            if _DEFINITION.search(text)
            else {}
        )
        for found in _MARKDOWN.finditer(text):
            target = (
                found["angled"] or found["bare"] or labels.get(_label(found["label"] or found["alt"]), "")
            )
            if target:
                yield ImageReference(found.start(), found.end(), target)
    yield from _in_tags(text)


def _in_tags(text: str) -> Iterator[ImageReference]:
    for tag in _TAG.finditer(text):
        found = _SOURCE.search(tag["attributes"])
        source = unescape(next(filter(None, found.groups()), "")) if found else ""
        if source:
            yield ImageReference(tag.start(), tag.end(), source)


def _label(words: str) -> str:
    return " ".join(words.casefold().split())


# References of a file


def list_references(content: bytes, form: Format) -> tuple[str, ...]:
    """List the keys of the images in a file (empty if the file is unreadable)."""
    if form not in {"markdown", "html"}:
        return ()
    try:
        text, _ = decode_declared(content, declared_encoding(content)) if form == "html" else decode(content)
    except KgError:
        return ()
    return references(text, form)


# Local image files, only inside the given folder

MAX_BYTES = 50_000_000  # total size of the images sent with one document
# O_NONBLOCK: the open of a named pipe must not wait for a writer
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
ReadFile = Callable[[Path, int], bytes]  # reads a file up to a size limit, or raises OSError


@dataclass(slots=True)
class FilesBeside:
    """Image files by key, and the keys without a file."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    missing: list[str] = field(default_factory=list[str])


def find_linked_image(
    document: Path, root: Path, key: str, is_private: Callable[[Path], bool] = lambda _: False
) -> Path | None:
    """Return the path of an image with links resolved, or None if it is missing or outside the folder.

    `root` is the given folder with links resolved. `is_private` is true for folders of kg itself.
    """
    try:
        found = (document.parent / key).resolve(strict=True)
        if not found.is_relative_to(root) or not stat.S_ISREG(found.stat().st_mode):
            return None
    except (OSError, RuntimeError, ValueError):
        return None
    hidden = any(part.startswith(".") for part in found.relative_to(root).parts)
    return None if hidden or any(map(is_private, found.parents)) else found


def read_linked_images(
    paths: Iterable[tuple[str, Path | None]], read: ReadFile, most: int = MAX_BYTES
) -> FilesBeside:
    """Read up to `most` bytes of images. A file that is too large or not an image counts as missing."""
    found, left = FilesBeside(), most
    for key, path in paths:
        try:
            content = read(path, left) if path else b""
        except OSError:
            content = b""
        if not is_image(content) or len(content) > left:
            found.missing.append(key)
            continue
        found.files[key] = content
        left -= len(content)
    return found


def read_regular(path: Path, most: int) -> bytes:
    """Read a regular file (no link, pipe, or device) of at most `most` bytes."""
    with open(os.open(path, _FLAGS), "rb") as file:  # noqa: PTH123 - a handle, not a path
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > most:
            raise OSError("not a file, or too large")
        return file.read(most + 1)


def list_file_references(content: bytes, name: str) -> tuple[str, ...]:
    """List the keys of the images in a file. Its extension determines its format."""
    try:
        return list_references(content, detect_format(name))
    except UnreadableDocument:
        return ()


def read_linked_files(document: Path, root: Path, content: bytes) -> dict[str, bytes]:
    keys = list_file_references(content, document.name)
    return read_linked_images(
        ((key, find_linked_image(document, root, key)) for key in keys), read_regular
    ).files


# Data URLs

MAX_DATA_URI = 64 * 1024 * 1024
_DATA_URI = re.compile(r"data:image/[\w.+-]+((?:;[\w=.+-]+)*?)(;base64)?,", re.IGNORECASE)
_IN_MARKDOWN = re.compile(
    r"""(\]\(\s{0,9}<?|<img\b[^<>]{0,8000}?\bsrc\s*=\s*["']?|^ {0,3}\[[^\[\]\n]{1,500}\]:[ \t]*<?)"""
    r"""(data:image/([\w.-]+)[^,\s"'<>()]{0,200},[^\s"'<>()]*)""",
    re.IGNORECASE | re.MULTILINE,
)


def is_data_uri(address: str) -> bool:
    return address[:5].lower() == "data:"


def from_data_uri(address: str) -> bytes:
    """Return the content of a data URL (empty: damaged, too long, or not an image)."""
    if len(address) > MAX_DATA_URI or not (found := _DATA_URI.match(address)):
        return b""
    content = unquote_to_bytes(address[found.end() :])
    if not found[2]:
        return content
    try:
        return base64.b64decode(content)
    except (binascii.Error, ValueError):
        return b""


def take_inline_images(text: str) -> tuple[str, dict[str, bytes]]:
    """Replace data URLs outside code by file names in a Markdown text. Also return the files by name."""
    found = list(_IN_MARKDOWN.finditer(text)) if "data:image/" in text.lower() else []
    starts = [each.start() for each in found]
    files: dict[str, bytes] = {}
    parts, at = list[str](), 0
    for each in compress(found, outside(starts, shown_in_markdown(text, starts))):
        content = from_data_uri(each[2])
        name = f"inline-{hashlib.sha256(content).hexdigest()[:12]}.{each[3].lower()}"
        files[name] = content
        parts += [text[at : each.start(2)], name]
        at = each.end()
    return "".join([*parts, text[at:]]), files
