"""From the text of a page to its tree, however deep its author's tools have nested it."""

from __future__ import annotations

import re
from collections import Counter

from kg_api.convert.html.elements import Element, parse_html, walk
from kg_api.convert.html.ignored import MACHINERY, ignored, words
from kg_api.errors import UnreadableDocument

_NEUTRAL = re.compile(
    r"</?(?:div|span|font|b|i|em|strong|u|a|section|article|center|blockquote)\b[^<>]*>", re.IGNORECASE
)
"""What may go without a change in the order of words, when a page is nested too deeply."""
_SELF_CLOSED = re.compile(r"<(title|script|style|textarea|iframe)\b([^<>]*)/>", re.IGNORECASE)
"""XHTML's empty elements, which HTML takes for the beginning of one."""
_FULL_SHARE = 0.5


def parse(text: str) -> Element:
    """Give the page's tree.

    Raises:
        UnreadableDocument: it holds nothing, or what cannot be taken away is nested too deeply.
    """
    text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    tree, deep = _parse(text)
    if deep:
        tree, deep = _parse(_NEUTRAL.sub(" ", text))
    if deep:
        raise UnreadableDocument("its elements are nested more than 2,000 deep; save it as a simpler page")
    if tree is None:
        raise UnreadableDocument("it holds no text; nothing was stored")
    return tree


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
    """How many words are content."""
    return words_by_reason(element)[""]


def words_by_reason(element: Element, without: Element | None = None) -> Counter[str]:
    """Count the words of content, and those of what is left out by its reason; `without` is passed over."""
    count: Counter[str] = Counter()
    walker = walk(element)
    for event, each in walker:
        if event == "end":
            count[""] += len((each.tail or "").split()) if each is not element else 0
        elif each is without:
            walker.skip_subtree()
        elif reason := ignored(each):
            walker.skip_subtree()
            count[reason] += 0 if reason == MACHINERY else sum(1 for _ in words(each))
        else:
            count[""] += len((each.text or "").split())
    return count
