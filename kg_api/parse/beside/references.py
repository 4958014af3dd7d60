"""Which pictures a Markdown text or a page names by relative references. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple
from urllib.parse import quote, unquote

from kg_api.models.library.formats import Format

MAX_REFERENCES = 500
"""Pictures of one document."""
MAX_LENGTH = 1000
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\#?]|$")
"""How an address begins that is none of a file beside the document."""
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
    """Pictures of a Markdown text, in brackets and in tags; what code shows is among them."""
    if "![" in text:
        labels = _labels(text) if _DEFINITION.search(text) else {}
        for found in _MARKDOWN.finditer(text):
            target = (
                found["angled"] or found["bare"] or labels.get(_label(found["label"] or found["alt"]), "")
            )
            if target and (key := key_of(target)):
                yield ImageReference(found.start(), found.end(), key)
    yield from mentions_in_tags(text)


def mentions_in_tags(text: str) -> Iterator[ImageReference]:
    """Pictures of HTML."""
    for tag in _TAG.finditer(text):
        found = _SOURCE.search(tag["attributes"])
        source = unescape(next(filter(None, found.groups()), "")) if found else ""
        if source and (key := key_of(source)):
            yield ImageReference(tag.start(), tag.end(), key)


def _labels(text: str) -> dict[str, str]:
    return {_label(each[1]): each[2] or each[3] for each in reversed(list(_DEFINITION.finditer(text)))}


def _label(words: str) -> str:
    return " ".join(words.casefold().split())
