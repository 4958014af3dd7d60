"""What of a page is not its content: decided by elements, roles and a few classes that tools write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from kg_api.convert.html.elements import Element, walk

NAVIGATION, MARGINS, FORMS, HIDDEN = "navigation", "page headers and footers", "forms", "hidden parts"
SCRIPTLESS, FALLBACK = "text for browsers without scripts", "fallback text of embedded media"
MACHINERY = "machinery"
"""Scripts and the like: nothing that a reader could miss."""

_TAGS = {
    **dict.fromkeys(
        (
            "script",
            "style",
            "head",
            "title",
            "link",
            "meta",
            "iframe",
            "embed",
        ),
        MACHINERY,
    ),
    **dict.fromkeys(("annotation", "annotation-xml", "desc", "defs"), MACHINERY),
    **dict.fromkeys(("object", "audio", "video", "canvas"), FALLBACK),
    "noscript": SCRIPTLESS,
    "template": HIDDEN,
    **dict.fromkeys(("button", "select", "textarea", "option", "datalist", "input"), FORMS),
    "nav": NAVIGATION,
}
_ROLES = {
    **dict.fromkeys(("navigation", "search", "menu", "menubar", "toolbar", "tablist", "doc-toc"), NAVIGATION),
    **dict.fromkeys(("banner", "contentinfo"), MARGINS),
}
_CLASSES = {
    **dict.fromkeys(
        ("navheader", "navfooter", "sphinxsidebar", "mw-editsection", "breadcrumbs", "docnav"), NAVIGATION
    ),
    **dict.fromkeys(("headerlink", "linenos", "lineno", "viewcode-link", "anchorjs-link"), MACHINERY),
}
_HIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_CONTENT = frozenset({"main", "article", "section", "blockquote", "figure"})
_SHOWN_WITHIN = frozenset({"button", "template"})
_TITLES = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt", "th", "summary", "caption"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_ANCHORS = frozenset({"", "¶", "#", "§", "🔗", "link", "↑", "↩", "↩︎", "^"})


def ignored(element: Element) -> str:
    """Why an element is left out with all that is in it; nothing: it is content."""
    tag, attributes = str(element.tag), element.attrib
    if reason := _TAGS.get(tag):
        return "" if tag in _SHOWN_WITHIN and _is_shown(element, tag) else reason
    if tag == "dialog" and "open" not in attributes:
        return HIDDEN
    if tag in {"header", "footer", "aside", "form", "a"} and (reason := _by_place(element, tag)):
        return reason
    return _by_attributes(attributes) if attributes else ""


def _is_shown(element: Element, tag: str) -> bool:
    """Whether a button is a title that opens what is below it, or a template is part of the page."""
    if tag == "template":
        return "shadowrootmode" in element.attrib
    return any(each.tag in _TITLES for each in islice(element.iterancestors(), 2))


def _by_attributes(attributes: Mapping[str, str]) -> str:
    if attributes.get("hidden", "until-found") != "until-found" or attributes.get("aria-hidden") == "true":
        return HIDDEN
    if _HIDING.search(attributes.get("style", "")):
        return HIDDEN
    if (role := attributes.get("role")) and role in _ROLES:
        return _ROLES[role]
    if attributes.get("{http://www.idpf.org/2007/ops}type", attributes.get("epub:type")) == "toc":
        return NAVIGATION
    return next((_CLASSES[each] for each in attributes.get("class", "").split() if each in _CLASSES), "")


def _by_place(element: Element, tag: str) -> str:
    if tag == "a":
        own = element.get("href", "").startswith("#") and len(element) == 0
        return MACHINERY if own and (element.text or "").strip() in _ANCHORS else ""
    if tag == "form":  # a page may be one whole form
        return "" if next(element.iter(*_HEADINGS, "main", "article"), None) is not None else FORMS
    if tag == "header" and next(element.iter("h1"), None) is not None:
        return ""
    content = _CONTENT - {"section"} if tag == "footer" else _CONTENT
    inside = any(each.tag in content or each.get("role") == "main" for each in element.iterancestors())
    return "" if inside else MARGINS


def words(element: Element) -> Iterator[str]:
    """All words below an element but those of scripts and the like, whether they are shown or not."""
    walker = walk(element)
    for event, each in walker:
        if event == "start" and _TAGS.get(str(each.tag)) == MACHINERY:
            walker.skip_subtree()
        elif event == "start":
            yield from (each.text or "").split()
        if event == "end" and each is not element:
            yield from (each.tail or "").split()
