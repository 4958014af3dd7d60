"""Image references of a document: counts, and data URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from itertools import compress, pairwise
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from kg_api.schemas.documents import Block
from kg_api.text.cutting import line_borders
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


# Image references

_ABSENT = re.compile(r"data:|#", re.IGNORECASE)  # references without a file
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


def count_linked_images(text: str) -> int:
    """Count the images that a Markdown text references by a path or a URL, outside code and comments."""
    found = [each for each in _named(text) if not _ABSENT.match(each.key)]
    return len({each.key for each in _but_shown(text, found)})


def note_linked_images(count: int) -> tuple[str, ...]:
    return (f"images that the text references are not read with it ({count:,})",) if count else ()


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


def take_inline_images(text: str) -> tuple[str, int]:
    """Replace data URLs outside code by file names in a Markdown text, and count them."""
    found = list(_IN_MARKDOWN.finditer(text)) if "data:image/" in text.lower() else []
    starts = [each.start() for each in found]
    names = set[str]()
    parts, at = list[str](), 0
    for each in compress(found, outside(starts, shown_in_markdown(text, starts))):
        names.add(
            name := f"inline-{hashlib.sha256(from_data_uri(each[2])).hexdigest()[:12]}.{each[3].lower()}"
        )
        parts += [text[at : each.start(2)], name]
        at = each.end()
    return "".join([*parts, text[at:]]), len(names)
