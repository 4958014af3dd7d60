"""Rows and texts of XLSX parts, without an element for each of their cells.

A sheet repeats a few short forms hundreds of thousands of times, and an element costs several times as much
as its text. A pattern reads the cells that are written in these forms. ElementTree reads all other cells, and
the whole part if it may have comments or another encoding. So each file reads as its XML says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree.ElementTree import XML

from kg_api.convert.shared.containers import iterate_xml, note_damage, read_xml

_OTHER = r"(<([\w:.-]+)(?:\s[^<>]*)?(?:/>|(?<!/)>.*?</\{}\s*>)|\S)"
"""An element in another form, or a sign that the part is damaged."""
_CELL = r'<c r="([A-Z]{{1,3}})\d+"([^<>/]*)(?:/>|>{}([^<&]+)</v></c>)|\s+|' + _OTHER.format(5)
_FORMULA = r"(?:<f>[^<]*</f>|<f [^<>]*/>)"
_COMPUTED_CELL = re.compile(_CELL.format(f"{_FORMULA}?<v>"), re.DOTALL)
_RECOMPUTED_CELL = re.compile(_CELL.format(f"(?:<v>|{_FORMULA}<v>(?!0<))"), re.DOTALL)
_ROW = re.compile(r'\s*<row(?: r="(\d+)")?((?:\s[^<>]*)?/?)>')
_HIDES_ROW = re.compile(r"""\s(?:hidden\s*=\s*["'](?:1|true)|ht\s*=\s*["']0)["']""")
_ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_STRING = re.compile(r'<si><t(?: xml:space="preserve")?>([^<&]*)</t></si>|\s+|' + _OTHER.format(3), re.DOTALL)
_START = re.compile(
    r"""(?:<\?xml(?:\s+version=["'][\d.]+["'])?(?:\s+encoding=["'](?:utf-8|us-ascii)["'])?[^<>]*\?>)?"""
    r"\s*(<(worksheet|sst)(?:\s[^<>]*)?(?<!/)>)",
    re.IGNORECASE,
)

TRUE = frozenset({"1", "true"})

Cell = tuple[str, str, str, Any, str]
"""Letters of its column, other attributes and value; or the cell as XML or as an element, and its name."""


_MAX_EXAMPLE = 40


class Row(NamedTuple):
    """A row of a sheet."""

    number: int
    """From 1."""
    is_hidden: bool
    cells: list[Cell]


class _Parts(NamedTuple):
    root: str
    """The first tag, which declares the namespaces."""
    end: str
    frame: str
    """The part without what it repeats."""
    repeated: str

    def parse(self, xml: str) -> Any:
        for element in XML(self.root + xml + self.end):
            return element
        raise ValueError(f"text where a cell should be: {xml}")


class SheetXml:
    """The XML of a sheet."""

    def __init__(self, data: bytes, what: str, *, has_results: bool) -> None:
        """Create a reader.

        Args:
            data: the part.
            what: its name in errors.
            has_results: whether a stored zero is the result of its formula.
        """
        self._data, self._what = data, what
        self._cell = _COMPUTED_CELL if has_results else _RECOMPUTED_CELL
        self._parts = _split(data, "sheetData")
        self.frame = list[Any]()
        """The elements that are in no row, when all rows were read."""

    def read_rows(self) -> Iterator[Row]:
        """Yield the rows that have cells.

        Raises:
            UnreadableDocument: the part is damaged.
        """
        if self._parts is None:
            yield from self._read_elements()
            return
        self.frame += read_xml(self._parts.frame.encode(), self._what).iter()
        text, at, row = self._parts.repeated, 0, 0
        while start := _ROW.match(text, at):
            number, attributes = start.groups()
            found = list[Cell]()
            if attributes.endswith("/"):
                at = start.end()
            elif (end := text.find("</row>", start.end())) >= 0:
                found = self._cell.findall(text, start.end(), end)
                at = end + len("</row>")
            else:
                break
            row = int(number or read_attributes(attributes).get("r", row + 1))
            if found:
                yield Row(row, _HIDES_ROW.search(attributes) is not None, found)
        if rest := text[at:].strip():
            with note_damage(self._what):
                raise ValueError(f"no row: {rest[:_MAX_EXAMPLE]}")

    def parse(self, cell: Any) -> Any:
        """Return the element of a cell that has one, or of what else is in a row.

        Raises:
            UnreadableDocument: it is damaged.
        """
        if self._parts is None:
            return cell
        with note_damage(self._what):
            return self._parts.parse(cell)

    def _read_elements(self) -> Iterator[Row]:
        held, row = list[Any](), 0
        for element in iterate_xml(self._data, self._what):
            held.append(element)
            if element.tag.rpartition("}")[2] == "row":
                inside = {*element.iter()}
                self.frame += [each for each in held if each not in inside]
                held.clear()
                row = int(element.get("r", row + 1))
                is_hidden = element.get("hidden") in TRUE or element.get("ht") == "0"
                yield Row(row, is_hidden, [("", "", "", each, "") for each in element])
                element.clear()
        self.frame += held


def read_attributes(xml: str) -> dict[str, str]:
    """Read the attributes of a tag, which have no references."""
    return {name: one or other for name, one, other in _ATTRIBUTE.findall(xml)}


def read_strings(data: bytes, what: str) -> Iterator[Any]:
    """Yield the strings that cells share: a text, or the element of one that has more.

    Raises:
        UnreadableDocument: the part is damaged.
    """
    if (parts := _split(data, "")) is None:
        for element in iterate_xml(data, what):
            if element.tag.rpartition("}")[2] == "si":
                yield element
                element.clear()
        return
    with note_damage(what):
        for found in _STRING.finditer(parts.repeated):
            text, other, _ = found.groups()
            if text is not None:
                yield text
            elif other:
                yield parts.parse(other)


def _split(data: bytes, holder: str) -> _Parts | None:
    """Part XML at the elements that `holder`, or its root, repeats; None if that needs a parser."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    start = _START.match(text)
    if start is None or "<!" in text or text.find("<?", 1) > 0:
        return None
    root, name = start.groups()
    opening, closing = (f"<{holder}>", f"</{holder}>") if holder else (root, f"</{name}>")
    first, last = text.find(opening) + len(opening), text.rfind(closing)
    if first < len(opening) or last < first or not text.rstrip().endswith(f"</{name}>"):
        return None
    return _Parts(root, f"</{name}>", text[start.start(1) : first] + text[last:], text[first:last])
