"""Conversion of markup that changes the meaning of text: scripts, struck text, ruby, form fields, formulas.

Afterwards, the modules for blocks, cells, and code listings only handle plain text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from kg_api.convert.html.blocks import BLOCKS
from kg_api.convert.html.elements import FORMS, Element, get_skip_reason, list_words, parse_html
from kg_api.convert.shared.formulas import write_formula
from kg_api.convert.shared.markdown_text import join_lines, lower_text, raise_text

_STRUCK_TAGS = frozenset({"del", "s", "strike"})
_STRUCK = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_SCRIPT = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)
_NOTE_LINKS = "descendant::a[@role or @*[contains(name(), 'type')]][not(ancestor::sup or descendant::sup)]"
_NOTE_TYPES = frozenset({"noteref", "doc-noteref"})
_BLOCK = re.compile(r"(?:^|;)\s*display\s*:\s*(?:block|flow-root|grid|flex|table|list-item)", re.IGNORECASE)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_NO_RULE = re.compile(r"/\*.*?\*/|@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})", re.DOTALL)
_CLASS = re.compile(r"\s*[a-z0-9]*\.([\w-]+)\s*", re.IGNORECASE)
_NUMBER_OF_NOTE = re.compile(r"[\d\s,;–-]*\d[\d\s,;–-]*|[^\W\d_]")
_SYLLABLES = re.compile(r"[\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf]+")
_NO_VALUE = frozenset({"hidden", "password", "file", "image", "color", "range"})
_BUTTONS = frozenset({"submit", "button", "reset"})
_UNFILLED = _NO_VALUE | _BUTTONS | {"checkbox", "radio"}
_WHOLE = frozenset({"img", "br", "input", "select", "textarea", "svg", "iframe", "object"})
_TAGS = ("sup", "sub", "ruby", "math", "q", "svg", "iframe", "input", "select", "textarea")


def simplify(root: Element) -> Counter[str]:
    """Rewrite the tree below `root`, and count skipped words by reason."""
    left_out: Counter[str] = Counter()
    _apply_styles(root)
    _mark_notes(root)
    for form in [each for each in root.iter("form") if _is_filled(each)]:
        form.tag = "section"
    marked = root.xpath("descendant::*[self::del or self::s or self::strike or @style]")
    _strike([each for each in marked if each.tag in _STRUCK_TAGS or _STRUCK.search(each.get("style", ""))])
    # Innermost first, because outer elements contain their text
    for element in reversed([*root.iter(*_TAGS)]):
        tag = str(element.tag)
        if tag in {"sup", "sub"}:
            _write_script(element, raise_text if tag == "sup" else lower_text)
        elif tag == "ruby":
            _write_reading(element)
        elif tag == "math":
            _replace(element, write_formula(element), "div" if element.get("display") == "block" else "span")
        elif tag == "q":
            _enclose(element, "“", "”")
        elif tag == "svg":
            _separate_labels(element)
        elif tag == "iframe":
            left_out["pages within pages"] += _count_frame(element)
        else:
            left_out[FORMS] += _write_field(element, tag)
    return left_out


def _apply_styles(root: Element) -> None:
    """Change elements that a style raises or lowers to `sup` or `sub`, and separate blocks by spaces."""
    *_, top = (root, *root.iterancestors())
    for sheet in top.iter("style"):
        apply_sheet(root, sheet.text or "")
    for element in root.xpath("descendant::*[@style]"):
        style, tag = element.attrib["style"], str(element.tag)
        if tag in BLOCKS or tag in _WHOLE:
            continue
        if script := _SCRIPT.search(style):
            element.tag = "sup" if script[1].lower() == "super" else "sub"
        elif _BLOCK.search(style):
            element.text, element.tail = f" {element.text or ''}", f" {element.tail or ''}"


def _mark_notes(root: Element) -> None:
    """Put links to notes into brackets if only an external style sheet raises them."""
    for link in root.xpath(_NOTE_LINKS):
        role = link.get("{http://www.idpf.org/2007/ops}type") or link.get("epub:type") or ""
        text = "".join(link.itertext()).strip()
        if not _NOTE_TYPES.isdisjoint([*role.split(), *link.get("role", "").split()]) and (
            _NUMBER_OF_NOTE.fullmatch(text)
        ):
            _replace(link, f"[{text}]", "a")


def apply_sheet(root: Element, sheet: str) -> None:
    """Copy struck, raised, and lowered styles of classes in a style sheet to the elements."""
    if not any(word in sheet for word in ("line-through", "vertical-align")):
        return
    styles: dict[str, str] = {}
    for selectors, style in _RULE.findall(_NO_RULE.sub("", sheet)):
        if _STRUCK.search(style) or _SCRIPT.search(style):
            for found in filter(None, map(_CLASS.fullmatch, selectors.split(","))):
                styles[found[1]] = style.strip().rstrip(";")
    for element in root.xpath("descendant::*[@class]") if styles else ():
        named = [styles[name] for name in element.attrib["class"].split() if name in styles]
        if named:
            element.attrib["style"] = ";".join([*named, element.get("style", "")])


def _strike(elements: list[Element]) -> None:
    """Put `~~` around struck text of each block. The outermost of nested elements comes first."""
    done = set[Element]()
    for outermost in elements:
        if any(each in done for each in (outermost, *outermost.iterancestors())):
            continue
        done.add(outermost)
        waiting = [outermost]
        while waiting:
            element = waiting.pop()
            if next(element.iterdescendants(*BLOCKS), None) is None:
                if "".join(element.itertext()).strip():
                    _enclose(element, "~~", "~~")
                continue
            element.text = _wrap(element.text)
            for child in element.iterchildren():
                child.tail = _wrap(child.tail)
                waiting.append(child)


def _wrap(text: str | None) -> str | None:
    if not text or not text.strip():
        return text
    begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return f"{text[:begin]}~~{text[begin:end]}~~{text[end:]}"


def _enclose(element: Element, before: str, after: str) -> None:
    """Put marks around the content of an element, inside its outer whitespace."""
    text = element.text or ""
    begin = len(text) - len(text.lstrip())
    element.text = text[:begin] + before + text[begin:]
    last = next(reversed([*element.iterchildren()]), None)
    text = (element.text if last is None else last.tail) or ""
    text = text.rstrip() + after + text[len(text.rstrip()) :]
    if last is None:
        element.text = text
    else:
        last.tail = text


def _replace(element: Element, text: str, tag: str = "span") -> None:
    for child in [*element.iterchildren()]:
        element.remove(child)
    element.tag, element.text = tag, text


def _is_plain(element: Element) -> bool:
    """Check if an element contains only text and inline markup."""
    below = [*element.iterdescendants()]
    return not any(each.tag in BLOCKS or each.tag in _WHOLE or get_skip_reason(each) for each in below)


def _write_script(element: Element, write: Callable[[str], str]) -> None:
    text = "".join(element.itertext())
    if _NUMBER_OF_NOTE.fullmatch(text.strip()) and _is_link(element):
        _replace(element, f"[{text.strip()}]")
    elif _is_plain(element):
        _replace(element, write(text))
    else:
        for each in element.iter():
            each.text = write(each.text) if each.text else None
            if each is not element:
                each.tail = write(each.tail) if each.tail else None


def _is_link(element: Element) -> bool:
    """Check if raised text is a link to a note: it contains a link, or is the whole content of one."""
    if any(each.get("href") and "".join(each.itertext()).strip() for each in element.iter("a")):
        return True
    above = element.getparent()
    if above is None or above.tag != "a" or not above.get("href"):
        return False
    siblings = above.iterchildren()
    if next(siblings) is not element or next(siblings, None) is not None:
        return False
    return not ((above.text or "") + (element.tail or "")).strip()


def _write_reading(ruby: Element) -> None:
    """Write ruby as `東京(とうきょう)`, with a word in one piece even if each character has a reading."""
    bases, readings = [ruby.text or ""], list[str]()
    for child in ruby.iterchildren():
        text = "".join(child.itertext())
        if child.tag in {"rt", "rtc"}:
            readings.append(join_lines(text))
        elif child.tag != "rp":
            bases.append(text)
        bases.append(child.tail or "")
    readings = [each for each in readings if each]
    reading = ("" if all(map(_SYLLABLES.fullmatch, readings)) else " ").join(readings)
    if next(ruby.iter("img"), None) is None:
        base = "".join(each for each in bases if each.strip()).strip()
        _replace(ruby, f"{base}({reading})" if reading else base)
    else:  # a character that is an image
        for child in [*ruby.iter("rt", "rp")]:
            _replace(child, f"({join_lines(''.join(child.itertext()))})" if child.tag == "rt" else "")


def _separate_labels(drawing: Element) -> None:
    for each in drawing.iterdescendants("text", "tspan"):
        if each.tag == "text" or {"x", "y", "dx", "dy"}.intersection(each.attrib):
            each.text, each.tail = f" {each.text or ''}", f" {each.tail or ''}"


def _count_frame(frame: Element) -> int:
    """Count the words of a page in a `srcdoc` attribute."""
    page = frame.get("srcdoc", "")
    tree = parse_html(page.encode("utf-8", "replace"))[0] if page.strip() else None
    return 0 if tree is None else sum(1 for _ in list_words(tree))


def _is_filled(form: Element) -> bool:
    """Check if a form contains values, and is not a search or login form."""
    fields = [(each, each.get("type", "text").strip().lower()) for each in form.iter("input")]
    if any(kind in {"search", "password"} for _, kind in fields) or form.get("role") == "search":
        return False
    return (
        any("checked" in each.attrib for each, _ in fields)
        or any(each.get("value", "").strip() for each, kind in fields if kind not in _UNFILLED)
        or any((each.text or "").strip() for each in form.iter("textarea"))
        or any("selected" in each.attrib for each in form.iter("option"))
    )


def _write_field(field: Element, tag: str) -> int:
    """Write the displayed value of a form field, and return the number of other words."""
    if tag == "textarea":
        _replace(field, f" {field.text or ''} ")
        return 0
    if tag == "select":
        options = [*field.iter("option")]
        chosen = [each for each in options if "selected" in each.attrib]
        if "multiple" not in field.attrib:
            enabled = [each for each in options if "disabled" not in each.attrib]
            chosen = chosen[-1:] or enabled[:1]
        labels = [join_lines(each.get("label") or "".join(each.itertext())) for each in chosen]
        others = sum(1 for each in options if each not in chosen for _ in list_words(each))
        _replace(field, f" {', '.join(filter(None, labels))} ")
        return others
    kind = field.get("type", "text").strip().lower()
    value = join_lines(field.get("value", ""))
    if kind in {"checkbox", "radio"}:
        _replace(field, "[x] " if "checked" in field.attrib else "[ ] ")
    elif kind in _BUTTONS:
        return len(value.split())
    elif kind not in _NO_VALUE and value:
        _replace(field, f" {value} ")
    return 0
