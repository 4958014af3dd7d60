"""Conversion of DOCX to Markdown, in one walk through the body."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape
from pathlib import PurePosixPath
from typing import cast

from kg_api.convert.docx.styles import VALUE, Numbering, ParagraphNumber, Styles, is_switched_on
from kg_api.convert.docx.text import (
    DELETED,
    HIDDEN,
    Anchored,
    FoundPicture,
    NoteReference,
    ParagraphText,
    TextReader,
    read_control_state,
)
from kg_api.convert.html.elements import parse
from kg_api.convert.html.page import find_inline_images, write_chapter
from kg_api.convert.image.embedded import ImagesWithin
from kg_api.convert.mail import read_content
from kg_api.convert.ooxml.drawings import read_paragraph, write_graphic
from kg_api.convert.ooxml.package import WORD_PARTS, Package, XmlElement, qualify
from kg_api.convert.ooxml.text import BULLET, ListWriter, format_number
from kg_api.convert.shared.accounting import describe_missing
from kg_api.convert.shared.containers import open_office, read_core_properties, read_entry
from kg_api.convert.shared.formulas import write_formula
from kg_api.convert.shared.markdown_text import (
    MarkdownWriter,
    join_lines,
    write_code_block,
    write_heading,
    write_paragraph,
    write_table,
)
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.schemas.images import ReadImage
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import decode_declared, find_declared_encoding

_KIND = "a Word document (DOCX)"
_WORDS = re.compile(rb"<w:t(?: [^<>]*)?>([^<]*)")
_COMMENT = re.compile(rb"<w:comment[ >]")
_MARGIN = re.compile(r"word/(?:header|footer)\d*\.xml")
_MAX_SPAN = 63  # columns (limit of Word)
_PARAGRAPH, _TABLE, _CONTROL, _CHUNK = (
    qualify("w:p"),
    qualify("w:tbl"),
    qualify("w:sdt"),
    qualify("w:altChunk"),
)
_ROW, _CELL, _SETTINGS = qualify("w:tr"), qualify("w:tc"), qualify("w:pPr")
_CHARTS, _EMBEDDED = "charts and diagrams that could not be read", "documents embedded as another format"
_NOTE_FORMS = {"footnote": "decimal", "endnote": "lowerRoman"}  # usual marks
_NO_NOTES = frozenset({"separator", "continuationSeparator", "continuationNotice"})
_BREAKS = re.compile(r"\n[ \t]*\n\s*")


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    archive = open_office(data, _KIND, needs="[Content_Types].xml")
    package, images = Package(archive), ImagesWithin(settings)
    part = package.get_main_part("word/document.xml")
    if not package.has(part):
        raise UnreadableDocument(f"the file is a ZIP archive but not {_KIND}: word/document.xml is missing")
    writer = MarkdownWriter()
    document = _Document(package, part, writer, images)
    document.write()
    if not writer.text():
        raise UnreadableDocument("the file contains no text. Nothing was stored")
    title, about = read_core_properties(archive)
    text = writer.text()
    # Count comments, and distinct texts of page headers and footers.
    comments = "word/comments.xml"
    margins = (read_entry(archive, name) for name in archive.namelist() if _MARGIN.fullmatch(name))
    words = {unescape(word.decode("utf-8", "replace")) for part in margins for word in _WORDS.findall(part)}
    beside = {
        "comments": len(_COMMENT.findall(read_entry(archive, comments)))
        if comments in archive.namelist()
        else 0,
        "words of page headers and footers": sum(len(each.split()) for each in words),
    }
    notes = (
        *(f"skipped: {what} ({count:,})" for what, count in beside.items() if count),
        *document.describe_skipped(),
        *describe_missing(package.read_pieces(WORD_PARTS, document.reader.unshown), text, "the document"),
        *images.notes(),
    )
    return Converted(text, title, about, notes=notes, images=tuple(writer.images))


def _parse_page(name: str, data: bytes) -> XmlElement | None:
    """Parse an HTML page, which may be in MHTML. Return None for other formats and damaged pages."""
    suffix = PurePosixPath(name).suffix.lower()
    try:
        if suffix in {".html", ".htm", ".xhtml"}:
            return parse(decode_declared(data, find_declared_encoding(data))[0])
        if suffix in {".mht", ".mhtml"}:
            page = message_from_bytes(data, policy=policy.default).get_body(("html",))
            return parse(read_content(cast("EmailMessage", page))[0]) if page else None
    except UnreadableDocument:
        pass
    return None


class _Document:
    def __init__(self, package: Package, part: str, writer: MarkdownWriter, images: ImagesWithin) -> None:
        self._package, self._part, self._main = package, part, part
        self._writer, self._images = writer, images
        self._lists = ListWriter(writer)
        self._styles = Styles(self._parse_related("styles"))
        self._numbering = Numbering(self._parse_related("numbering"), self._styles)
        self._left_out: Counter[str] = Counter()
        self.reader = TextReader(self._styles, self._left_out, self._mark_note, self._find_image)
        self._notes = {kind: self._read_notes(kind) for kind in ("footnote", "endnote")}
        self._note_counts: Counter[str] = Counter()
        self._references: list[tuple[NoteReference, str]] = []
        self._picture_count = 0
        self._code: list[str] = []
        self._mark = ""  # mark of the note whose first paragraph is next

    def write(self) -> None:
        root = self._package.parse(self._main)
        self.reader.fields.find_unmatched(root)
        self._left_out["subdocuments in other files"] += sum(1 for _ in root.iter(qualify("w:subDoc")))
        for body in root.findall(qualify("w:body")):
            self._write_blocks(body)
        self._close()
        for reference, mark in self._references:
            self._part, notes = self._notes[reference.kind]
            note = notes.get(reference.identity)
            if note is not None:
                self._mark = mark
                self._write_blocks(note)
                self._close()
                self._mark = ""

    def describe_skipped(self) -> Iterator[str]:
        """Yield notes about visible or hidden content that the text lacks."""
        yield from (f"skipped: {what} ({count:,})" for what, count in self._left_out.items() if count)
        missing = self.reader.fields.without_result
        if missing:
            code = next(iter(missing))
            yield f"skipped: fields without a stored result ({missing.total():,}), e.g. {code}"
        yield from (
            f"numbers shown as decimals, for their format {form!r} is not known ({count:,})"
            for form, count in self._numbering.unknown.items()
        )

    def _parse_related(self, kind: str) -> XmlElement | None:
        name = self._package.find_related(self._main, kind)
        return self._package.parse(name) if name else None

    # Blocks

    def _write_blocks(self, container: XmlElement) -> None:
        for child in container:
            if child.tag == _PARAGRAPH:
                self._write_paragraph(child)
            elif child.tag == _TABLE:
                self._write_table(child)
            elif child.tag == _CHUNK:
                self._write_chunk(child)
            elif child.tag in {qualify("m:oMathPara"), qualify("m:oMath")}:
                self._write_text(f" {write_formula(child)} ")
            elif not str(child.tag).endswith("Pr"):
                self._write_blocks(child)
                # Write the state of a content control without text.
                if child.tag == _CONTROL and not any(
                    (each.text or "").strip() for each in child.iter(qualify("w:t"), qualify("w:sym"))
                ):
                    self._write_text(read_control_state(child.find(qualify("w:sdtPr"))))

    def _write_chunk(self, element: XmlElement) -> None:
        """Write an embedded HTML page, which some programs use for all of a document."""
        name = self._package.get_target(self._part, element.get(qualify("r:id"), ""))
        tree = _parse_page(name, self._package.read(name)) if name else None
        if tree is None:
            self._left_out[_EMBEDDED] += 1
        else:
            self._close()
            self._left_out += write_chapter(tree, self._writer, find_inline_images(self._images))

    def _write_text(self, text: str) -> None:
        if text.strip():
            self._close()
            self._writer.add(write_paragraph(text))

    def _close(self) -> None:
        self._lists.close()
        if self._code:
            self._writer.add(write_code_block("\n".join(self._code)))
            self._code = []

    def _write_paragraph(self, element: XmlElement) -> None:
        settings = element.find(_SETTINGS)
        read, number = self._read_paragraph(element)
        text = read.inline.render()
        level = self._styles.get_heading_level(settings)
        if not level and self._styles.is_code(settings) and (text.strip() or self._code):
            self._lists.close()
            self._code.append(text)
        elif text.strip() or (number and number.text != BULLET):
            if self._code:
                self._close()
            self._write_words(text, number, level)
        elif number is None and self._code:
            self._close()
        self._write_anchored(read.anchored)

    def _write_words(self, text: str, number: ParagraphNumber | None, level: int) -> None:
        if self._mark:
            text, self._mark = f"[{self._mark}] {text.strip()}", ""
        first, *more = _BREAKS.split(text.strip()) if not level else [text]
        if level:
            self._close()
            label = number.text if number and number.text != BULLET else ""
            self._writer.add(write_heading(level, f"{label} {text}"))
        elif number:
            self._lists.write(number.level, number.text, first)
        else:
            self._lists.close()
            self._writer.add(write_paragraph(first))
        for each in more:
            self._writer.add(write_paragraph(each), self._lists.indent)

    def _read_paragraph(self, element: XmlElement) -> tuple[ParagraphText, ParagraphNumber | None]:
        """Read a paragraph, and count its number if Word shows the paragraph."""
        read = self.reader.read(element)
        settings = element.find(_SETTINGS)
        mark = None if settings is None else settings.find(qualify("w:rPr"))
        gone = mark is not None and (
            is_switched_on(mark.find(qualify("w:vanish")))
            or mark.find(qualify("w:del")) is not None
            or mark.find(qualify("w:moveFrom")) is not None
        )
        if gone and not read.inline.render().strip():
            return read, None
        return read, self._numbering.count(settings)

    def _write_anchored(self, anchored: list[Anchored], words: str = "") -> None:
        """Write images, text boxes, and graphics after the block with their anchor."""
        for each in anchored:
            if isinstance(each, FoundPicture):
                self._writer.add_image(each.image, each.words or words, each.name, self._lists.indent)
                continue
            self._close()
            if isinstance(each, str):
                name = self._package.get_target(self._part, each)
                try:
                    is_written = bool(name) and write_graphic(self._package.parse(name), self._writer)
                except UnreadableDocument:
                    is_written = False
                self._left_out[_CHARTS] += not is_written
            elif each.tag == qualify("w:txbxContent"):
                self._write_blocks(each)
                self._close()
            else:
                self._writer.add(write_paragraph(read_paragraph(each)))

    def _find_image(self, relationship: str) -> tuple[ReadImage, str] | None:
        self._picture_count += 1
        name = self._package.get_target(self._part, relationship)
        try:
            image = self._images.read(self._package.read(name) if name else None)
        except UnreadableDocument:  # a damaged archive entry
            return None
        return (image, f"image{self._picture_count}") if image else None

    # Tables

    def _write_table(self, element: XmlElement) -> None:
        self._close()
        rows = list(self._find(element, _ROW))
        cells = [list(self._find(row, _CELL)) for row in rows]
        if sum(map(len, cells)) == 1 or self._is_layout(element, cells):
            for cell in (cell for row in cells for cell in row):
                self._write_blocks(cell)
                self._close()
            return
        anchored = list[tuple[Anchored, str]]()
        lines = list[list[str]]()
        for row, parts in zip(rows, cells, strict=True):
            if self._skip_row(row):
                continue
            line, found = self._read_row(row, parts)
            if any(line):
                lines.append(line)
            line_text = join_lines(" ".join(line))
            anchored += [(each, line_text) for each in found]
        if len(lines) > 1:
            self._writer.add(write_table(lines))
        else:
            self._writer.add(write_paragraph(" ".join(cell for line in lines for cell in line)))
        for each, line_text in anchored:
            self._write_anchored([each], line_text)

    def _skip_row(self, row: XmlElement) -> bool:
        """Check if a row is hidden or deleted, and count its words if so."""
        settings = row.find(qualify("w:trPr"))
        if settings is None:
            return False
        hidden, deleted = (
            is_switched_on(settings.find(qualify("w:hidden"))),
            settings.find(qualify("w:del")) is not None,
        )
        if hidden or deleted:
            self.reader.count_skipped(row, DELETED if deleted else HIDDEN)
        return hidden or deleted

    def _find(self, container: XmlElement, tag: str) -> Iterator[XmlElement]:
        """Yield rows or cells, including those inside content controls, tags, and insertions."""
        for child in container:
            if child.tag == tag:
                yield child
            elif child.tag not in {_TABLE, _ROW, _CELL, _PARAGRAPH} and not str(child.tag).endswith("Pr"):
                yield from self._find(child, tag)

    def _is_layout(self, element: XmlElement, rows: Sequence[Sequence[XmlElement]]) -> bool:
        """Check if a table only arranges blocks: headings, code, or tables in at least half of its rows."""
        has_tables = next(element.iterdescendants(_TABLE), None) is not None
        if has_tables and sum(map(_is_data, rows)) * 2 <= len(rows):
            return True
        settings = [each.find(_SETTINGS) for each in element.iter(_PARAGRAPH)]
        return any(self._styles.get_heading_level(each) or self._styles.is_code(each) for each in settings)

    def _read_row(self, row: XmlElement, cells: list[XmlElement]) -> tuple[list[str], list[Anchored]]:
        """Read the cell texts of a row. A merged cell has its text in the first cell."""
        settings = row.find(qualify("w:trPr"))
        before = None if settings is None else settings.find(qualify("w:gridBefore"))
        line, anchored = [""] * _get_span(before, 0), list[Anchored]()
        for cell in cells:
            about = cell.find(qualify("w:tcPr"))
            span = None if about is None else about.find(qualify("w:gridSpan"))
            merged = None if about is None else about.find(qualify("w:vMerge"))
            text, found = "", list[Anchored]()
            if merged is None or merged.get(VALUE, "continue") == "restart":
                text, found = self._read_cell(cell)
            line += [text, *[""] * (_get_span(span, 1) - 1)]
            anchored += found
        return line, anchored

    def _read_cell(self, container: XmlElement) -> tuple[str, list[Anchored]]:
        """Return the text of a cell on one line, and its images and graphics."""
        texts, anchored = list[str](), list[Anchored]()
        for child in container:
            if child.tag == _PARAGRAPH:
                read, number = self._read_paragraph(child)
                texts += [number.text if number and number.text != BULLET else "", read.inline.render()]
                for each in read.anchored:
                    if isinstance(each, FoundPicture | str):
                        anchored.append(each)
                    elif each.tag == qualify("w:txbxContent"):
                        text, more = self._read_cell(each)
                        texts.append(text)
                        anchored += more
                    else:
                        texts.append(read_paragraph(each))
            elif child.tag == _TABLE:
                rows = [row for row in self._find(child, _ROW) if not self._skip_row(row)]
                lines = [self._read_row(row, list(self._find(row, _CELL))) for row in rows]
                texts.append("; ".join(", ".join(filter(None, line)) for line, _ in lines))
                anchored += [each for _, more in lines for each in more]
            elif child.tag in {qualify("m:oMathPara"), qualify("m:oMath")}:
                texts.append(f" {write_formula(child)} ")
            elif not str(child.tag).endswith("Pr"):
                text, more = self._read_cell(child)
                if child.tag == _CONTROL and not text:
                    text = read_control_state(child.find(qualify("w:sdtPr")))
                texts.append(text)
                anchored += more
        return join_lines(" ".join(texts)), anchored

    # Footnotes and endnotes

    def _read_notes(self, kind: str) -> tuple[str, dict[str, XmlElement]]:
        name = self._package.find_related(self._main, f"{kind}s")
        root = self._package.parse(name) if name else ()
        return name or "", {
            each.get(qualify("w:id"), ""): each
            for each in root
            if each.get(qualify("w:type"), "") not in _NO_NOTES
        }

    def _mark_note(self, reference: NoteReference) -> str:
        mark = ""
        if not reference.has_own_mark:
            self._note_counts[reference.kind] += 1
            count = self._note_counts[reference.kind]
            mark = format_number(count, _NOTE_FORMS[reference.kind]) or str(count)
        self._references.append((reference, mark))
        return mark


def _is_data(cells: Sequence[XmlElement]) -> bool:
    """Check if a row has several cells with text and no table."""
    filled = sum(any((text.text or "").strip() for text in cell.iter(qualify("w:t"))) for cell in cells)
    return filled > 1 and all(next(cell.iter(_TABLE), None) is None for cell in cells)


def _get_span(element: XmlElement | None, default: int) -> int:
    value = "" if element is None else element.get(VALUE, "")
    return min(int(value), _MAX_SPAN) if re.fullmatch(r"[0-9]{1,9}", value) else default
