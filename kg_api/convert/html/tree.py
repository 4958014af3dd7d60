"""From the text of a page to its tree, however deep its author's tools have nested it."""

from __future__ import annotations

import re
from collections import Counter
from html import escape

from kg_api.convert.html.elements import Element, parse_html, walk
from kg_api.convert.html.ignored import MACHINERY, ignored, words
from kg_api.errors import UnreadableDocument

_NEUTRAL = re.compile(
    r"</?(?:div|span|font|b|i|em|strong|u|a|section|article|center|blockquote)\b[^<>]*>", re.IGNORECASE
)
"""What may go without a change in the order of words, when a page is nested too deeply."""
_SELF_CLOSED = re.compile(r"<(title|script|style|textarea|iframe)\b([^<>]*)/>", re.IGNORECASE)
"""XHTML's empty elements, which HTML takes for the beginning of one."""
_HEAD = frozenset({"title", "meta", "link", "script", "style", "base", "template"})
_XHTML = re.compile(r"<\?xml\s|xmlns\s*=\s*[\"']http://www\.w3\.org/")
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_EMPTY = re.compile(rf"<((?!(?:{_VOID})\b)[a-zA-Z][\w.-]*)((?:\s[^<>]*)?)/>")
_PREFIX = re.compile(r"(</?)(?:m|mml|math|svg|h|html|xhtml):(?=[a-zA-Z])")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_HEAD_CHARACTERS = 2_000
_FULL_SHARE = 0.5


def parse(text: str) -> Element:
    """Give the page's tree.

    Raises:
        UnreadableDocument: it holds nothing, or what cannot be taken away is nested too deeply.
    """
    text = (
        _as_html(text) if _XHTML.search(text[:_HEAD_CHARACTERS]) else _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    )
    tree, deep = _parse(text)
    if deep:
        tree, deep = _parse(_NEUTRAL.sub(" ", text))
    if deep:
        raise UnreadableDocument("its elements are nested more than 2,000 deep; save it as a simpler page")
    if tree is None:
        raise UnreadableDocument("it holds no text; nothing was stored")
    _empty_head(tree)
    return tree


def _as_html(text: str) -> str:
    """What XML has and the parser of HTML does not know: empty elements, prefixes, CDATA."""
    text = _EMPTY.sub(r"<\1\2></\1>", _PREFIX.sub(r"\1", text))
    return _CDATA.sub(lambda found: escape(found[1], quote=False), text) if "<![CDATA[" in text else text


def _empty_head(tree: Element) -> None:
    """Move text that the parser took for a part of the head, such as `<ruby>` on a page without `<body>`."""
    head, body = tree.find("head"), tree.find("body")
    if head is None:
        return
    behind = [*head.iterchildren()]
    while behind and behind[0].tag in _HEAD and not (behind[0].tail or "").strip():
        del behind[0]
    if not behind:
        return
    if body is None:
        body = tree.makeelement("body", {})
        tree.append(body)
    moved = tree.makeelement("div", {})
    if behind[0].tag in _HEAD:
        moved.text, behind[0].tail = behind[0].tail, None
        del behind[0]
    for each in behind:
        moved.append(each)
    moved.tail, body.text = body.text, None
    body.insert(0, moved)


def _parse(text: str) -> tuple[Element | None, bool]:
    tree, complaints = parse_html(text.encode("utf-8", "replace"))
    return tree, any("xcessive depth" in complaint for complaint in complaints)


def content(tree: Element) -> Element:
    """The part that is the page: `main` or the only article, where it holds most of the text; else all."""
    body = tree.find("body")
    body = tree if body is None else body
    found = [each for each in body.iter() if each.tag == "main" or each.get("role") == "main"]
    found = found or list(body.iter("article"))
    if len(found) != 1:
        return body
    return found[0] if visible_words(found[0]) > _FULL_SHARE * visible_words(body) else body


def visible_words(element: Element) -> int:
    return words_by_reason(element)[""]


def words_by_reason(element: Element, without: Element | None = None) -> Counter[str]:
    """Count the words of content, and those of what is left out by its reason; `without` is passed over."""
    count: Counter[str] = Counter()
    content = 0
    walker = walk(element)
    for event, each in walker:
        if event == "end":
            if each is not element and (text := each.tail):
                content += len(text.split())
        elif each is without:
            walker.skip_subtree()
        elif reason := ignored(each):
            walker.skip_subtree()
            count[reason] += 0 if reason == MACHINERY else sum(1 for _ in words(each))
        elif text := each.text:
            content += len(text.split())
    count[""] = content
    return count
