"""Simple readers that share only HTML, MIME, and JSON parsers with the converters.

Each returns the visible text with separated blocks and joined lines.
"""

from __future__ import annotations

import base64
import email
import io
import json
import posixpath
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from typing import Any, cast
from urllib.parse import unquote

from defusedxml import ElementTree

from kg_api.convert.html.elements import parse_html
from kg_api.convert.shared.accounting import find_missing

INLINE = frozenset({
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "label", "mark", "nobr", "output", "q", "s", "samp", "small", "span", "strike"),
    *("strong", "time", "tt", "u", "var", "wbr", "math", "mrow", "mi", "mo", "mtext"),
})  # fmt: skip
NOT_SHOWN = frozenset({
    *("head", "title", "script", "style", "template", "noscript", "iframe", "object", "audio", "video"),
    *("canvas", "datalist", "desc", "defs", "annotation", "annotation-xml", "rp"),
})  # fmt: skip
DECORATION = frozenset({"nav", "header", "footer", "aside", "button"})
DECORATION_CLASSES = frozenset({"headerlink", "sphinxsidebar", "linenos", "lineno", "viewcode-link"})
SCRIPTS = re.compile("[⁰¹²³⁴-⁹]+|[₀-₉]+")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def read_html(page: str, *, margins: bool = False) -> str:
    """Return the text that you can see on a page. Use `margins` to include content around the main
    part."""
    tree, _ = parse_html(page.encode())
    return "".join(_read_nodes(tree, margins)) if tree is not None else ""


def _read_nodes(root: Any, margins: bool) -> Iterator[str]:
    numbers: list[tuple[int, int]] = []
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        element, ended = stack.pop()
        tag = str(element.tag)
        if ended:
            if tag in {"ol", "ul"}:
                numbers.pop()
            yield "" if tag in INLINE else "\n"
            yield element.tail or ""
            continue
        if _is_left_out(element, tag, margins):
            yield element.tail or ""
            continue
        if tag in {"ol", "ul"}:
            down = "reversed" in element.attrib
            first = sum(each.tag == "li" for each in element) if down else 1
            numbers.append((int(element.get("start") or first), -1 if down else 1))
        style = (element.get("style") or "").replace(" ", "")
        yield "" if tag in INLINE and "display:block" not in style else "\n"
        if tag == "li" and numbers and element.getparent().tag == "ol":
            number, step = numbers[-1]
            number = int(element.get("value") or number)
            numbers[-1] = number + step, step
            yield f"{number} "
        if tag == "img":
            yield element.get("alt") or ""
        elif tag == "input" and (element.get("type") or "text") == "text":
            yield element.get("value") or ""
        elif tag == "select":
            chosen = element.findall(".//option[@selected]") or element.findall(".//option")[:1]
            yield from ("".join(each.itertext()) for each in chosen)
            yield element.tail or ""
            continue
        yield element.text or ""
        stack.append((element, True))
        stack += [(each, False) for each in reversed(element)]


def _is_left_out(element: Any, tag: str, margins: bool) -> bool:
    style = (element.get("style") or "").replace(" ", "").lower()
    if tag in NOT_SHOWN or element.get("hidden") is not None or "display:none" in style:
        return True
    if element.get("aria-hidden") == "true" or set((element.get("class") or "").split()) & DECORATION_CLASSES:
        return True
    return not margins and (tag in DECORATION or element.get("role") in {"navigation", "search", "banner"})


def read_epub(data: bytes) -> str:
    """Return the text from all documents in the spine. The table of contents is not included."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    place = next(each.get("full-path", "") for each in container.iter() if each.tag.endswith("rootfile"))
    package = ElementTree.fromstring(archive.read(place))
    items = {each.get("id"): each for each in package.iter() if each.tag.endswith("}item")}
    texts: list[str] = []
    for each in package.iter():
        item = items.get(each.get("idref")) if each.tag.endswith("itemref") else None
        if item is not None and "nav" not in item.get("properties", ""):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(item.get("href", ""))))
            texts.append(read_html(archive.read(name).decode("utf-8", "replace"), margins=True))
    return "\n".join(texts)


def read_mail(data: bytes, markdown: str) -> str:
    """Return the text from all parts. If there are alternatives, use the one that is most similar to
    `markdown`."""
    return "\n".join(_read_part(email.message_from_bytes(data, policy=policy.default), markdown))


def _read_part(part: EmailMessage, markdown: str) -> Iterator[str]:
    kind = part.get_content_type()
    if subject := part.get("subject"):
        yield str(subject)
    for name in ("from", "to", "cc", "date"):
        yield str(part.get(name) or "").translate({ord('"'): " "})
    below = cast("list[EmailMessage]", part.get_payload()) if part.is_multipart() else []
    if kind == "multipart/alternative":
        texts = ["\n".join(_read_part(each, markdown)) for each in below]
        texts = [each for each in texts if each.strip()]
        lacking = {text: getattr(find_missing([text], markdown), "words", 0) for text in texts}
        yield min(texts, key=lambda text: (lacking[text], -len(text)), default="")
    elif kind == "message/rfc822" and part.get("content-transfer-encoding") == "base64":
        yield from _read_part(
            email.message_from_bytes(base64.b64decode(str(below[0].get_payload())), policy=policy.default),
            markdown,
        )
    elif below and kind != "message/delivery-status":
        for each in below:
            yield from _read_part(each, markdown)
    elif part.get_content_disposition() != "attachment" and kind in {"text/plain", "text/html", "text/csv"}:
        payload = cast("bytes", part.get_payload(decode=True) or b"")
        text = payload.decode(part.get_content_charset("utf-8"), "replace")
        yield read_html(text, margins=True) if kind == "text/html" else text


def read_notebook(data: bytes) -> str:
    """Return the sources and the outputs from all cells."""
    texts: list[str] = []
    for cell in json.loads(data)["cells"]:
        texts.append("".join(cell["source"]))
        for output in cell.get("outputs", []):
            texts.append("".join(output.get("text", [])))
            texts.append(f"{output.get('ename', '')} {output.get('evalue', '')}")
            plain = "".join(output.get("data", {}).get("text/plain", []))
            texts.append("" if re.fullmatch(r"<[^<>]*(?:Figure|Image)[^<>]*>", plain) else plain)
    return "\n".join(texts)


def find_invented_numbers(shown: str, markdown: str) -> set[str]:
    return _read_numbers(markdown) - _read_numbers(shown)


def _read_numbers(text: str) -> set[str]:
    apart = SCRIPTS.sub(lambda found: f" {unicodedata.normalize('NFKC', found[0])} ", text)
    return {each.strip(".,:") for each in NUMBER.findall(apart)}
