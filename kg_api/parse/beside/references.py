"""Which pictures a Markdown text or a page names by relative references. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import compress
from typing import NamedTuple
from urllib.parse import quote, unquote

from kg_api.models.library.formats import Format
from kg_api.parse.beside.shown import outside, shown_in_html, shown_in_markdown

MAX_REFERENCES = 500
"""Pictures of one document."""
MAX_LENGTH = 1000
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\#?]|$")
"""How an address begins that is none of a file beside the document."""
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
    """A picture that is named, and where in the text: `text[start:end]`."""

    start: int
    end: int
    key: str


def key_of(reference: str) -> str | None:
    """A relative reference in one form: unquoted, with `/`, without query; None: it leads elsewhere."""
    plain = unquote(reference.strip().partition("#")[0].partition("?")[0]).replace("\\", "/")
    if _ELSEWHERE.match(reference.strip()) or _ELSEWHERE.match(plain) or _CONTROL.search(plain):
        return None
    path = posixpath.normpath(plain)
    return path if len(path) <= MAX_LENGTH and path not in {".", ".."} else None


def reference_to(key: str) -> str:
    """A reference that `key_of` gives this key of."""
    return quote(key)


def references(text: str, form: Format) -> tuple[str, ...]:
    """The keys of the pictures that a document names, each once, in their order."""
    if form not in {"markdown", "html"}:
        return ()
    found = mentions_in_tags(text) if form == "html" else mentions(text)
    return tuple(dict.fromkeys(each.key for each in found))[:MAX_REFERENCES]


def mentions(text: str) -> Iterator[ImageReference]:
    """Pictures of a Markdown text, in brackets and in tags; none that code or a comment shows."""
    return _beside(_but_shown(text, _named(text)))


def mentions_in_tags(text: str) -> Iterator[ImageReference]:
    """Pictures of HTML, but none of a comment, a script or what is shown as code."""
    found = list(_in_tags(text))
    shown = shown_in_html(text) if found else []
    return _beside(compress(found, outside((each.start for each in found), shown)))


def count_elsewhere(text: str) -> int:
    """How many pictures a Markdown text shows from addresses in a network."""
    found = [each for each in _named(text) if _NETWORK.match(each.key)] if "//" in text else []
    return len({each.key for each in _but_shown(text, found)})


def _beside(found: Iterable[ImageReference]) -> Iterator[ImageReference]:
    """Those that lie beside the document; their references as keys."""
    for each in found:
        if key := key_of(each.key):
            yield each._replace(key=key)


def _but_shown(text: str, some: Iterable[ImageReference]) -> Iterator[ImageReference]:
    """Those of a Markdown text that it does not show as they stand, in their order."""
    found = sorted(some)
    starts = [each.start for each in found]
    return compress(found, outside(starts, shown_in_markdown(text, starts)))


def _named(text: str) -> Iterator[ImageReference]:
    """All that may be a picture, with the reference as it is written."""
    if "![" in text:
        labels = _labels(text) if _DEFINITION.search(text) else {}
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


def _labels(text: str) -> dict[str, str]:
    return {_label(each[1]): each[2] or each[3] for each in reversed(list(_DEFINITION.finditer(text)))}


def _label(words: str) -> str:
    return " ".join(words.casefold().split())
