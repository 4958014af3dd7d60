"""Charts and SmartArt; of that the texts of its data model, as an outline."""

from __future__ import annotations

from kg_api.convert.markdown_text import MarkdownWriter
from kg_api.convert.ooxml.charts import read_chart
from kg_api.convert.ooxml.drawing import read_lines
from kg_api.convert.ooxml.lists import BULLET, ListWriter
from kg_api.convert.ooxml.package import XmlElement, q

_POINT, _CONNECTION, _TEXT = q("dgm:pt"), q("dgm:cxn"), q("dgm:t")
_MAX_LEVEL = 5


def write_graphic(root: XmlElement, writer: MarkdownWriter) -> bool:
    """Write a chart part or the data of a diagram; return whether it has any text."""
    before = writer.position
    if root.tag == q("dgm:dataModel"):
        outline = ListWriter(writer)
        for level, text in _read_diagram(root):
            outline.write(level, BULLET, text)
    else:
        for block in read_chart(root):
            writer.add(block)
    return writer.position > before


def _read_diagram(root: XmlElement) -> list[tuple[int, str]]:
    """Return levels and texts in reading order."""
    texts = {
        each.get("modelId", ""): " ".join(read_lines(text))
        for each in root.iter(_POINT)
        if (text := each.find(_TEXT)) is not None
    }
    children: dict[str, list[tuple[int, str]]] = {}
    for each in root.iter(_CONNECTION):
        if each.get("type", "parOf") == "parOf":
            order = each.get("srcOrd", "0")
            place = (int(order) if order.isdecimal() else 0, each.get("destId", ""))
            children.setdefault(each.get("srcId", ""), []).append(place)
    below = {identity for places in children.values() for _, identity in places}
    roots = [name for each in root.iter(_POINT) if (name := each.get("modelId", "")) not in below]
    pending = [(0 if texts.get(each) else -1, each) for each in reversed(roots)]
    outline, seen = list[tuple[int, str]](), set[str]()
    while pending:
        level, identity = pending.pop()
        if identity in seen:
            continue
        seen.add(identity)
        if texts.get(identity):
            outline.append((min(level, _MAX_LEVEL), texts[identity]))
        pending += [(level + 1, child) for _, child in sorted(children.get(identity, ()), reverse=True)]
    return outline
