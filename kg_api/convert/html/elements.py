"""HTML as an lxml tree, and selection of its content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from itertools import islice
from typing import Any, cast

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]: no types

from kg_api.convert.shared.containers import XmlElement as Element
from kg_api.errors import UnreadableDocument


def walk(element: Element) -> Any:
    """Return an iterator of `start` and `end` events. Its `skip_subtree` skips the content."""
    return cast("Any", etree).iterwalk(element, events=("start", "end"))


def parse_html(data: bytes) -> tuple[Element | None, list[str]]:
    """Parse UTF-8 HTML, and return the tree (if any) and the messages of the parser."""
    library = cast("Any", etree)
    parser = library.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        tree = library.fromstring(data, parser)
    except library.LxmlError:
        tree = None
    return tree, [str(entry.message) for entry in parser.error_log]


# Elements outside the content, by tag, role, and some classes of documentation tools

NAVIGATION, MARGINS, FORMS, HIDDEN = "navigation", "page headers and footers", "forms", "hidden parts"
SCRIPTLESS, FALLBACK = "text for browsers without scripts", "fallback text of embedded media"
MACHINERY = "machinery"  # scripts and similar elements without text for readers

_TAGS = {
    **dict.fromkeys(("script", "style", "head", "title", "link", "meta", "iframe", "embed"), MACHINERY),
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


def get_skip_reason(element: Element) -> str:
    """Get the reason to skip an element with its content (empty: content)."""
    tag, attributes = str(element.tag), element.attrib
    if reason := _TAGS.get(tag):
        return "" if tag in _SHOWN_WITHIN and _is_shown(element, tag) else reason
    if tag == "dialog" and "open" not in attributes:
        return HIDDEN
    if tag in {"header", "footer", "aside", "form", "a"} and (reason := _find_by_place(element, tag)):
        return reason
    return _get_reason_in_attributes(attributes) if attributes else ""


def _is_shown(element: Element, tag: str) -> bool:
    """Check if a button is a heading that opens a section, or a template is part of the page."""
    if tag == "template":
        return "shadowrootmode" in element.attrib
    return any(each.tag in _TITLES for each in islice(element.iterancestors(), 2))


def _get_reason_in_attributes(attributes: Mapping[str, str]) -> str:
    if attributes.get("hidden", "until-found") != "until-found" or attributes.get("aria-hidden") == "true":
        return HIDDEN
    if _HIDING.search(attributes.get("style", "")):
        return HIDDEN
    if (role := attributes.get("role")) and role in _ROLES:
        return _ROLES[role]
    if attributes.get("{http://www.idpf.org/2007/ops}type", attributes.get("epub:type")) == "toc":
        return NAVIGATION
    return next((_CLASSES[each] for each in attributes.get("class", "").split() if each in _CLASSES), "")


def _find_by_place(element: Element, tag: str) -> str:
    if tag == "a":
        own = element.get("href", "").startswith("#") and len(element) == 0
        return MACHINERY if own and (element.text or "").strip() in _ANCHORS else ""
    if tag == "form":  # a form may contain the whole page
        return "" if next(element.iter(*_HEADINGS, "main", "article"), None) is not None else FORMS
    if tag == "header" and next(element.iter("h1"), None) is not None:
        return ""
    content = _CONTENT - {"section"} if tag == "footer" else _CONTENT
    inside = any(each.tag in content or each.get("role") == "main" for each in element.iterancestors())
    return "" if inside else MARGINS


def list_words(element: Element) -> Iterator[str]:
    """Yield all words below an element, visible or not, without scripts and similar elements."""
    walker = walk(element)
    for event, each in walker:
        if event == "start" and _TAGS.get(str(each.tag)) == MACHINERY:
            walker.skip_subtree()
        elif event == "start":
            yield from (each.text or "").split()
        if event == "end" and each is not element:
            yield from (each.tail or "").split()


# Parsing of pages, including deeply nested ones

_NEUTRAL = re.compile(
    r"</?(?:div|span|font|b|i|em|strong|u|a|section|article|center|blockquote)\b[^<>]*>", re.IGNORECASE
)
"""Tags that can be removed from deeply nested pages without a change in word order."""
_SELF_CLOSED = re.compile(r"<(title|script|style|textarea|iframe)\b([^<>]*)/>", re.IGNORECASE)
"""Empty elements of XHTML, which HTML parses as start tags."""
_HEAD = frozenset({"title", "meta", "link", "script", "style", "base", "template"})
_XHTML = re.compile(r"<\?xml\s|xmlns\s*=\s*[\"']http://www\.w3\.org/")
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_EMPTY = re.compile(rf"<((?!(?:{_VOID})\b)[a-zA-Z][\w.-]*)((?:\s[^<>]*)?)/>")
_PREFIX = re.compile(r"(</?)(?:m|mml|math|svg|h|html|xhtml):(?=[a-zA-Z])")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_END = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
"""End tags of the page. Browsers show text after them, and the parser skips this text."""
_UNCLOSED = re.compile(
    r"""</?(?:embed|source|track|wbr)(?=[\s/>])(?:[^<>"']|"[^"]*"|'[^']*')*>""", re.IGNORECASE
)
"""Tags of empty elements without text. The parser does not know that they are empty, and puts the text that
follows into them."""
_FRAMES = re.compile(r"<(/?)(?:noframes|frameset)\b[^<>]*>", re.IGNORECASE)
"""Tags of frames. The parser takes the content of `noframes`, which may be all of the page, as plain text."""
_HEAD_CHARACTERS = 2_000
_FULL_SHARE = 0.5


def parse(text: str) -> Element:
    text = (
        _convert_xml_syntax(text)
        if _XHTML.search(text[:_HEAD_CHARACTERS])
        else _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    )
    text = _UNCLOSED.sub("", _FRAMES.sub(r"<\1div>", _END.sub("", text)))
    tree, deep = _parse(text)
    if deep:
        tree, deep = _parse(_NEUTRAL.sub(" ", text))
    if deep:
        raise UnreadableDocument(
            "the elements of the page are nested more than 2,000 deep. Save a simpler page"
        )
    if tree is None:
        raise UnreadableDocument("the file contains no text. Nothing was stored")
    _empty_head(tree)
    _add_rows(tree)
    return tree


def _convert_xml_syntax(text: str) -> str:
    """Convert XML syntax that HTML parsers do not support: empty elements, prefixes, CDATA."""
    text = _EMPTY.sub(r"<\1\2></\1>", _PREFIX.sub(r"\1", text))
    return _CDATA.sub(lambda found: escape(found[1], quote=False), text) if "<![CDATA[" in text else text


def _empty_head(tree: Element) -> None:
    """Move text out of the head, where the parser puts elements such as `<ruby>` if `<body>` is missing."""
    head, body = tree.find("head"), tree.find("body")
    if head is None or all(each.tag in _HEAD and not (each.tail or "").strip() for each in head):
        return
    head.tag = "div"
    if body is None:
        body = tree.makeelement("body", {})
        tree.append(body)
    head.tail, body.text = body.text, None
    body.insert(0, head)


def _add_rows(tree: Element) -> None:
    """Put cells outside a row into a row, as browsers do."""
    for group in tree.iter("table", "thead", "tbody", "tfoot"):
        row = None
        for each in list(group):
            if each.tag not in {"td", "th"}:
                row = None
                continue
            if row is None:
                row = group.makeelement("tr", {})
                each.addprevious(row)
            row.append(each)


def _parse(text: str) -> tuple[Element | None, bool]:
    tree, complaints = parse_html(text.encode("utf-8", "replace"))
    return tree, any("xcessive depth" in complaint for complaint in complaints)


def find_content(tree: Element) -> Element:
    """Return `main` or the only article if it contains most of the text, otherwise the body."""
    body = tree.find("body")
    body = tree if body is None else body
    found = [each for each in body.iter() if each.tag == "main" or each.get("role") == "main"]
    found = found or list(body.iter("article"))
    if len(found) != 1:
        return body
    return found[0] if count_visible_words(found[0]) > _FULL_SHARE * count_visible_words(body) else body


def count_visible_words(element: Element) -> int:
    return count_words_by_reason(element)[""]


def count_words_by_reason(element: Element, without: Element | None = None) -> Counter[str]:
    """Count the words of the content (key "") and skipped words by reason, outside the element `without`."""
    count: Counter[str] = Counter()
    content = 0
    walker = walk(element)
    for event, each in walker:
        if event == "end":
            if each is not element and (text := each.tail):
                content += len(text.split())
        elif each is without:
            walker.skip_subtree()
        elif reason := get_skip_reason(each):
            walker.skip_subtree()
            count[reason] += 0 if reason == MACHINERY else sum(1 for _ in list_words(each))
        elif text := each.text:
            content += len(text.split())
    count[""] = content
    return count
