"""Conversion of PPTX: each slide becomes a heading with its content in reading order."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pptx
from pptx.opc.package import PartFactory
from pptx.parts.presentation import PresentationPart

from kg_api.convert.image.embedded import ImagesWithin
from kg_api.convert.ooxml.drawings import read_lines, read_paragraph, write_graphic
from kg_api.convert.ooxml.package import (
    SLIDE_PARTS,
    Package,
    XmlElement,
    parse_part,
    qualify,
    resolve_alternatives,
)
from kg_api.convert.ooxml.text import ALTERNATIVES, BULLET, ListWriter, format_slide_number
from kg_api.convert.shared.accounting import describe_missing
from kg_api.convert.shared.containers import open_office, read_core_properties
from kg_api.convert.shared.markdown_text import MarkdownWriter, write_heading, write_paragraph, write_table
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings

_KIND = "a presentation (PPTX)"
_SAME_LINE = 228_600  # 0.25 inch in EMU: shapes with a smaller vertical distance form a row
_FOOTERS = ("DATE", "FOOTER", "SLIDE_NUMBER", "HEADER")
_TITLES = ("TITLE", "CENTER_TITLE", "SUBTITLE", "VERTICAL_TITLE")
_NO_TITLES = frozenset({"PowerPoint Presentation", "Presentation", "PowerPoint-Präsentation"})
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|emf|wmf|svg|tiff?|bmp)", re.IGNORECASE)
_COMMENTS = re.compile(r"ppt/comments/[^/]+\.xml")
_COMMENT = re.compile(rb"<(?:\w+:)?cm[ >]")
_CHARTS, _HIDDEN = "charts and diagrams that could not be read", "hidden shapes"
_GRAPHICS = (
    qualify("c:chart"),
    qualify("cx:chart"),
    qualify("dgm:relIds"),
)  # refer to a chart or the data of a diagram
_MAX_LEVELS = 9
_ON = frozenset({"1", "true"})
_MACRO_FORM = "application/vnd.ms-powerpoint.{}.macroEnabled.main+xml"
PartFactory.part_type_for |= {  # python-pptx knows presentations with macros only
    _MACRO_FORM.format(form): PresentationPart for form in ("slideshow", "template")
}


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    archive = open_office(data, _KIND, needs="ppt/presentation.xml")
    deck = _Deck(settings)
    try:
        # `pptx.Presentation` rejects slide shows and templates
        part = cast("Any", pptx).package.Package.open(io.BytesIO(data)).main_document_part
        slides = list(part.presentation.slides)
        slide_texts = [deck.write_slide(slide) for slide in slides]
    except Exception as error:  # python-pptx passes on errors of keys, XML, and types
        raise UnreadableDocument(
            f"the file is not {_KIND}, or is damaged ({error!r:.200}). Save the file again"
        ) from error
    if not any(slide_texts):
        raise UnreadableDocument("no slide contains text or an image. Nothing was stored")
    title, about = read_core_properties(archive)
    title = "" if title in _NO_TITLES else title
    names = filter(_COMMENTS.fullmatch, archive.namelist())
    deck.left_out["comments"] = sum(len(_COMMENT.findall(archive.read(name))) for name in names)
    text = deck.writer.text()
    hidden = [str(number) for number, slide in enumerate(slides, 1) if slide.element.get("show") == "0"]
    notes = (
        *((f"hidden slides that were read all the same: {', '.join(hidden)}",) if hidden else ()),
        *(f"skipped: {what} ({count:,})" for what, count in deck.left_out.items() if count),
        *describe_missing(Package(archive).read_pieces(SLIDE_PARTS), text, "the slides"),
        *deck.images.notes(),
    )
    return Converted(text, title, about, tuple(deck.pages), notes, images=tuple(deck.writer.images))


class _Deck:
    def __init__(self, settings: ConversionSettings) -> None:
        self.writer, self.pages, self.left_out = MarkdownWriter(), list[int](), Counter[str]()
        self.images = ImagesWithin(settings)
        self._numbered = False  # whether the layout numbers paragraphs. A lookup for each paragraph is slow

    def write_slide(self, slide: Any) -> bool:
        resolve_alternatives(slide.element)
        writer = self.writer
        self.pages.append(writer.position)
        title = slide.shapes.title
        words = "" if title is None else " ".join(read_lines(title.element))
        writer.add(write_heading(2, words or f"Slide {len(self.pages)}"))
        before = writer.position
        layout = slide.slide_layout
        self._numbered = any(
            next(each.element.iter(qualify("a:buAutoNum")), None) is not None
            for each in (layout, layout.slide_master)
        )
        for shape in self._find_shapes(slide.shapes):
            if title is None or shape.shape_id != title.shape_id:
                start, described = writer.position, _get_alternative_text(shape)
                if not self._write_shape(shape, described) and described:
                    if writer.position > start:
                        self.left_out[ALTERNATIVES] += 1
                    else:
                        writer.add(write_paragraph(described))
        if slide.has_notes_slide:
            resolve_alternatives(slide.notes_slide.element)
            place = slide.notes_slide.notes_placeholder
            slide_title = "" if place is None else " ".join(read_lines(place.element))
            writer.add(write_paragraph(f"Notes: {slide_title}") if slide_title else "")
        return bool(words) or writer.position > before

    def _find_shapes(self, shapes: Iterable[Any]) -> Iterator[Any]:
        """Yield shapes in reading order, with the shapes of a group at the group's position."""
        for shape in sorted(shapes, key=lambda each: (round((each.top or 0) / _SAME_LINE), each.left or 0)):
            about = next(iter(shape.element.iter(qualify("p:cNvPr"))), None)
            if about is not None and about.get("hidden") in _ON:  # hidden in the selection pane
                self.left_out[_HIDDEN] += 1
            elif hasattr(shape, "shapes"):
                yield from self._find_shapes(shape.shapes)
            else:
                yield shape

    def _write_shape(self, shape: Any, described: str) -> bool:
        """Write a shape, and return whether it is an image with its alternative text."""
        kind = str(shape.placeholder_format.type).partition(" ")[0] if shape.is_placeholder else ""
        if kind in _FOOTERS:
            words = "" if kind == "SLIDE_NUMBER" else " ".join(read_lines(shape.element))
            self.left_out["words of footers"] += len(words.split())
        elif getattr(shape, "has_table", False):
            self.writer.add(write_table(map(_read_row, shape.element.iter(qualify("a:tr")))))
        elif shape.has_text_frame:
            self._write_text(shape, listed=bool(kind) and kind not in _TITLES)
        elif (graphic := next(shape.element.iter(*_GRAPHICS), None)) is not None:
            part = graphic.get(
                qualify("r:dm") if graphic.tag == qualify("dgm:relIds") else qualify("r:id"), ""
            )
            try:
                root = parse_part(shape.part.related_part(part).blob, part)
                is_written = write_graphic(root, self.writer)
            except (KeyError, UnreadableDocument):
                is_written = False
            self.left_out[_CHARTS] += not is_written
        else:
            self.left_out["embedded objects"] += (
                next(shape.element.iter(qualify("p:oleObj")), None) is not None
            )
            return self._write_embedded_image(shape, described)
        return False

    def _write_embedded_image(self, shape: Any, described: str) -> bool:
        try:
            content = bytes(shape.image.blob)
        except (AttributeError, KeyError, ValueError, OSError):  # no image, or an external one
            content = None
        if (found := self.images.read(content)) is None:
            return False
        self.writer.add_image(found, described, shape.image.filename or f"image.{shape.image.ext}")
        return True

    def _write_text(self, shape: Any, *, listed: bool) -> None:
        paragraphs = shape.element.iterfind(f"{qualify('p:txBody')}/{qualify('a:p')}")
        texts = [
            (each, _get_level(each), text) for each in paragraphs if (text := read_paragraph(each)).strip()
        ]
        numbers = _Numbers(_find_list_styles(shape, inherited=self._numbered))
        lists, depth = ListWriter(self.writer), -1
        for each, level, text in texts:
            number = numbers.count(each)
            if number or _is_item(each, listed=listed and (len(texts) > 1 or level > 0)):
                depth = min(level, depth + 1)
                lists.write(depth, number or BULLET, text)
            else:
                depth = -1
                self.writer.add(write_paragraph(text))


def _get_alternative_text(shape: Any) -> str:
    descriptions = (str(each.get("descr") or "").strip() for each in shape.element.iter())
    described = next(filter(None, descriptions), "")
    return "" if _FILE_NAME.fullmatch(described) else described


def _read_row(row: XmlElement) -> list[str]:
    """Read the cell texts of a row. A merged cell has its text in the first cell."""
    return [
        "" if cell.get("hMerge", "0") in _ON or cell.get("vMerge", "0") in _ON else _read_cell(cell)
        for cell in row.findall(qualify("a:tc"))
    ]


def _read_cell(cell: XmlElement) -> str:
    numbers = _Numbers(())
    texts = ((each, read_paragraph(each)) for each in cell.iter(qualify("a:p")))
    return " ".join(f"{numbers.count(each)} {text}" for each, text in texts if text.strip())


def _get_level(element: XmlElement) -> int:
    settings = element.find(qualify("a:pPr"))
    level = "0" if settings is None else settings.get("lvl", "0")
    return min(int(level), _MAX_LEVELS - 1) if level.isdecimal() else 0


class _Numbers:
    """Automatic paragraph numbers of one shape."""

    def __init__(self, styles: Iterable[XmlElement]) -> None:
        self._styles = list(styles)
        self._counts: list[tuple[str, int] | None] = [None] * _MAX_LEVELS  # format and last number by level

    def count(self, element: XmlElement) -> str:
        """Count a paragraph with text (empty: not numbered)."""
        level = _get_level(element)
        bullet = self._find_bullet(element, level)
        self._counts[level + 1 :] = [None] * (_MAX_LEVELS - level - 1)
        if bullet is None or bullet.tag != qualify("a:buAutoNum"):
            self._counts[level] = None
            return ""
        form, start = bullet.get("type", ""), bullet.get("startAt", "1")
        key, before = f"{form} {start}", self._counts[level]
        value = before[1] + 1 if before and before[0] == key else int(start) if start.isdecimal() else 1
        self._counts[level] = key, value
        return format_slide_number(value, form) or f"{value}."

    def _find_bullet(self, element: XmlElement, level: int) -> XmlElement | None:
        own = element.find(qualify("a:pPr"))
        styles = (each.find(qualify(f"a:lvl{level + 1}pPr")) for each in self._styles)
        for settings in (own, *styles):
            for each in () if settings is None else settings:
                if each.tag in _BULLETS:
                    return each
        return None


_BULLETS = frozenset({qualify("a:buNone"), qualify("a:buChar"), qualify("a:buAutoNum"), qualify("a:buBlip")})


def _find_list_styles(shape: Any, *, inherited: bool) -> Iterator[XmlElement]:
    """Find the list styles of a shape and of its placeholders on layout and master."""
    while shape is not None and shape.has_text_frame:
        yield from shape.element.iter(qualify("a:lstStyle"))
        shape = getattr(shape, "_base_placeholder", None) if inherited else None


def _is_item(element: XmlElement, *, listed: bool) -> bool:
    """Check if a paragraph has a bullet, by its own properties or its placeholder."""
    settings = element.find(qualify("a:pPr"))
    marks = set[str]() if settings is None else {each.tag for each in settings}
    return qualify("a:buNone") not in marks and (listed or not marks.isdisjoint(_BULLETS))
