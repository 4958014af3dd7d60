"""PPTX: each slide a heading and what stands on it, in reading order."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pptx

from kg_api.api_settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.api_settings import ConversionSettings
from kg_api.convert.files.office import core_properties, open_office
from kg_api.convert.image.within import ImagesWithin
from kg_api.convert.markdown_text import MarkdownWriter, heading, one_line, paragraph, table
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted

_KIND = "a presentation (PPTX)"
_SAME_LINE = 228_600
"""A quarter of an inch, in EMU: shapes whose tops differ by less stand side by side."""
_FOOTERS = ("DATE", "FOOTER", "SLIDE_NUMBER", "HEADER")
_TITLES = ("TITLE", "CENTER_TITLE", "SUBTITLE", "VERTICAL_TITLE")
_NO_TITLES = frozenset({"PowerPoint Presentation", "Presentation", "PowerPoint-Präsentation"})
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|emf|wmf|svg|tiff?|bmp)", re.IGNORECASE)
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    """Make Markdown of a presentation, with its pictures.

    Raises:
        UnreadableDocument: it is none, it is damaged or encrypted, or has no text.
    """
    archive = open_office(data, _KIND, needs="ppt/presentation.xml")
    writer, pages, left_out = MarkdownWriter(), list[int](), Counter[str]()
    images = ImagesWithin(settings)
    try:
        slides = list(cast("Any", pptx).Presentation(io.BytesIO(data)).slides)
        said = [_slide(writer, pages, slide, left_out, images) for slide in slides]
    except RecursionError as error:
        raise UnreadableDocument("its shapes are nested too deeply; save it anew, ungrouped") from error
    except Exception as error:  # the library lets through what its parts raise: keys, XML, types
        raise UnreadableDocument(
            f"it is not {_KIND}, or a damaged one ({error!r:.200}); save it anew"
        ) from error
    if not any(said):
        raise UnreadableDocument("no slide holds text or a picture; nothing was stored")
    title, about = core_properties(archive)
    title = "" if title in _NO_TITLES else title
    notes = (*_notes(slides, left_out), *images.notes())
    return Converted(writer.text(), title, about, tuple(pages), notes, images=tuple(writer.images))


def _notes(slides: list[Any], left_out: Counter[str]) -> Iterator[str]:
    hidden = [number for number, slide in enumerate(slides, 1) if slide.element.get("show") == "0"]
    if hidden:
        yield f"hidden slides that were read all the same: {', '.join(map(str, hidden))}"
    yield from (f"left out: {what} ({count:,})" for what, count in left_out.items() if count)


def _slide(
    writer: MarkdownWriter, pages: list[int], slide: Any, left_out: Counter[str], images: ImagesWithin
) -> bool:
    """Write one slide; gives whether it says anything."""
    pages.append(writer.position)
    title = slide.shapes.title
    words = one_line(title.text_frame.text) if title is not None else ""
    writer.add(heading(2, words or f"Slide {len(pages)}"))
    before = writer.position
    for shape in _in_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _shape(writer, shape, left_out, images)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        said = one_line(frame.text)
        writer.add(paragraph(f"Notes: {said}") if said else "")
    return bool(words) or writer.position > before


def _in_order(shapes: Iterable[Any]) -> Iterator[Any]:
    """From top to bottom, side by side from left to right; a group is opened where it stands."""
    for shape in sorted(shapes, key=lambda each: (round((each.top or 0) / _SAME_LINE), each.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _in_order(shape.shapes)
        else:
            yield shape


def _shape(writer: MarkdownWriter, shape: Any, left_out: Counter[str], images: ImagesWithin) -> None:
    kind = str(shape.placeholder_format.type).partition(" ")[0] if shape.is_placeholder else ""
    if kind in _FOOTERS:
        left_out["words of footers"] += len(shape.text_frame.text.split()) if kind == "FOOTER" else 0
    elif getattr(shape, "has_table", False):
        writer.add(table([cell.text for cell in row.cells] for row in shape.table.rows))
    elif getattr(shape, "has_chart", False):
        left_out["charts"] += not _chart(writer, shape.chart)
    elif shape.has_text_frame:
        _text(writer, shape.text_frame, listed=bool(kind) and kind not in _TITLES)
    else:
        left_out["diagrams"] += any(
            "diagram" in str(each.get("uri")) for each in shape.element.iter(f"{_DRAWING}graphicData")
        )
        described = _alternative(shape)
        if (found := images.read(_picture(shape))) is not None:
            writer.image(found, described, shape.image.filename or f"image.{shape.image.ext}")
        else:
            writer.add(paragraph(described) if described else "")


def _picture(shape: Any) -> bytes | None:
    """The file of a picture that is in the presentation."""
    try:
        return bytes(shape.image.blob)
    except (AttributeError, KeyError, ValueError, OSError):  # no picture, or one that is elsewhere
        return None


def _text(writer: MarkdownWriter, frame: Any, *, listed: bool) -> None:
    said = [each for each in frame.paragraphs if each.text.strip()]
    depth = -1
    for each in said:
        if _is_item(each, listed=listed and (len(said) > 1 or each.level > 0)):
            depth = min(each.level, depth + 1)
            writer.item(each.text, "  " * min(depth, 5))
        else:
            depth = -1
            writer.add(paragraph(each.text))


def _is_item(text: Any, *, listed: bool) -> bool:
    """Whether a paragraph has a bullet: it says so itself, or its place on the slide does."""
    marks = {str(each.tag) for each in text._p.pPr} if text._p.pPr is not None else set[str]()  # noqa: SLF001
    if f"{_DRAWING}buNone" in marks:
        return False
    return listed or f"{_DRAWING}buChar" in marks or f"{_DRAWING}buAutoNum" in marks


def _chart(writer: MarkdownWriter, chart: Any) -> bool:
    """Write its title, and its numbers as a table; gives whether they could be read."""
    if chart.has_title and chart.chart_title.has_text_frame:
        writer.add(paragraph(chart.chart_title.text_frame.text))
    try:
        plots = [(plot, list(plot.series)) for plot in chart.plots]
    except (NotImplementedError, ValueError):  # kinds that the library does not know, such as 3D areas
        return False
    for plot, series in plots:
        names = [str(each) for each in plot.categories]
        rows = [[name, *(_number(each.values, at) for each in series)] for at, name in enumerate(names)]
        writer.add(table([["", *(str(each.name) for each in series)], *rows]) if rows else "")
    return True


def _number(values: Any, at: int) -> str:
    value = values[at] if at < len(values) else None
    return "" if value is None else f"{value:g}"


def _alternative(shape: Any) -> str:
    """What a shape says of itself to those who do not see it."""
    described = next((str(each.get("descr") or "") for each in shape.element.iter() if each.get("descr")), "")
    return "" if _FILE_NAME.fullmatch(described.strip()) else described
