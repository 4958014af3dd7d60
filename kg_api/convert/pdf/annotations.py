"""Text of annotations: values of form fields, free text, and stamps, at their positions.

kg reads values, not appearances. A note counts annotations with a drawn text only, such as signatures, and
comments, which readers open one by one.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import Any, cast

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf.characters import PageText, read
from kg_api.convert.pdf.layout import ASCENT, DESCENT, FoundRun, TextRun
from kg_api.convert.pdf.letters import Box, PageObjects, list_objects, turn_box
from kg_api.wording import name_pages, pluralize

CHECKED, UNCHECKED = "☒", "☐"
_MAX_ANNOTATIONS = 5000  # per page
_MAX_EXAMPLE = 80
_HIDDEN, _NO_VIEW = 1 << 1, 1 << 5
_MULTILINE, _PASSWORD = 1 << 12, 1 << 13
_FONT_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)\s+Tf")
_USUAL_SIZE, _ROOM = 12.0, 0.7
_LETTER_WIDTH = 0.5
_STAMP = re.compile(r"[A-Z][A-Za-z]{1,30}")
_NO_COMMENT = frozenset({raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_FREETEXT})
_BOXES = frozenset({raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON})
_DRAWN = frozenset({raw.FPDF_FORMFIELD_SIGNATURE, raw.FPDF_FORMFIELD_PUSHBUTTON})
_TEXT_FIELDS = frozenset({"Tx", "Ch"})  # names in the file
_VALUES = frozenset({raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX})


@dataclass(frozen=True, slots=True)
class _Item:
    """Field or other annotation with a text."""

    box: Box
    value: str
    size: float
    is_multiline: bool = False


class Annotations:
    def __init__(self, document: pdfium.PdfDocument) -> None:
        self._document = document
        self._xfa = document.get_formtype() in {raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND}
        if document.get_formtype() != raw.FORMTYPE_NONE:
            document.init_forms()
        self._form: Any = document.formenv.raw if document.formenv else None
        self._comments: dict[int, list[str]] = {}
        self._beyond = self._drawn = 0

    def read_page(self, number: int) -> tuple[pdfium.PdfPage, PageObjects, PageText]:
        page = self._document[number]
        items, comments = self._find(page)
        objects = list_objects(page)
        text = read(page, objects)
        turn = text.rotation if text.turn is None else text.turn
        for item in items:
            lines = list(_write(item, turn))
            # Skip a text that the page content has at the same position.
            place = turn_box(item.box, turn)
            there = _normalize_text(" ".join(each.text for each in text.pieces if _is_within(each, place)))
            if not there or _normalize_text(item.value) not in there:
                text.shown += lines
        letters = _normalize_text(" ".join(item.value for item in items))
        if comments := [each for each in comments if _normalize_text(each) not in letters]:
            self._comments[number + 1] = comments
        text.plain = "\n".join([text.plain, *(each.run.text for each in text.shown)])
        return page, objects, text

    def list_notes(self) -> Iterator[str]:
        if self._comments:
            count = sum(map(len, self._comments.values()))
            first = " ".join(next(iter(self._comments.values()))[0].split())
            example = first if len(first) <= _MAX_EXAMPLE else f"{first[: _MAX_EXAMPLE - 1]}…"
            pages = name_pages(sorted(self._comments))
            yield f'skipped: {pluralize(count, "comment")} on {pages}, e.g. "{example}"'
        if self._drawn:
            yield f"skipped: signatures, stamps, and buttons that are only drawn ({self._drawn:,})"
        if self._beyond:
            yield f"skipped: annotations of a page beyond {_MAX_ANNOTATIONS:,} ({self._beyond:,})"
        if self._xfa:
            yield (
                "skipped: the content of the XFA form. To include it, print the form to a PDF and ingest "
                "that file"
            )
        if (count := raw.FPDFDoc_GetAttachmentCount(self._document.raw)) > 0:
            yield f"skipped: {pluralize(count, 'attached file')}. Ingest each as a separate document"

    def _find(self, page: pdfium.PdfPage) -> tuple[list[_Item], list[str]]:
        """Find the texts and the comments of a page."""
        items, comments = list[_Item](), list[str]()
        count = raw.FPDFPage_GetAnnotCount(page.raw)
        self._beyond += max(0, count - _MAX_ANNOTATIONS)
        for i in range(min(count, _MAX_ANNOTATIONS)):
            annotation: Any = raw.FPDFPage_GetAnnot(page.raw, i)
            if not annotation:
                continue
            try:
                if not raw.FPDFAnnot_GetFlags(annotation) & (_HIDDEN | _NO_VIEW):
                    self._read_annotation(annotation, items, comments)
            finally:
                raw.FPDFPage_CloseAnnot(annotation)
        return items, comments

    def _read_annotation(self, annotation: Any, items: list[_Item], comments: list[str]) -> None:
        kind: int = raw.FPDFAnnot_GetSubtype(annotation)
        box = _read_box(annotation)
        size = raw.FPDFAnnot_GetAP(annotation, raw.FPDF_ANNOT_APPEARANCEMODE_NORMAL, None, 0)
        if kind == raw.FPDF_ANNOT_WIDGET:
            field = raw.FPDFAnnot_GetFormFieldType(self._form, annotation) if self._form else -1
            self._drawn += field in _DRAWN and size > 2  # noqa: PLR2004 - bytes of the terminator
            if item := self._read_field(annotation, field, box):
                items.append(item)
        elif contents := _read_string(annotation, b"Contents").strip():
            if kind not in _NO_COMMENT:
                comments.append(contents)
            if kind in {raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP}:
                items.append(_Item(box, contents, _read_size(annotation, box), is_multiline=True))
        elif kind in {raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP}:
            name = _read_string(annotation, b"Name")
            if _STAMP.fullmatch(name):
                items.append(_Item(box, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name), _USUAL_SIZE))
            else:
                self._drawn += size > 2  # noqa: PLR2004

    def _read_field(self, annotation: Any, kind: int, box: Box) -> _Item | None:
        if kind < 0:
            return _read_unlisted_field(annotation, box)
        flags = raw.FPDFAnnot_GetFormFieldFlags(self._form, annotation)
        if kind in _BOXES:
            mark = CHECKED if raw.FPDFAnnot_IsChecked(self._form, annotation) else UNCHECKED
            return _Item(box, mark, _fit_size(0, box))
        is_text = kind == raw.FPDF_FORMFIELD_TEXTFIELD
        if kind not in _VALUES or (is_text and flags & _PASSWORD):
            return None
        value = self._read_choice(annotation)
        if kind != raw.FPDF_FORMFIELD_LISTBOX:
            value = value or _read_wide(partial(raw.FPDFAnnot_GetFormFieldValue, self._form, annotation))
        return _build_item(annotation, box, value, is_text and bool(flags & _MULTILINE))

    def _read_choice(self, annotation: Any) -> str:
        """Read the displayed labels of the selected options, which may differ from the stored values."""
        count = raw.FPDFAnnot_GetOptionCount(self._form, annotation)
        chosen = (i for i in range(count) if raw.FPDFAnnot_IsOptionSelected(self._form, annotation, i))
        return ", ".join(
            _read_wide(partial(raw.FPDFAnnot_GetOptionLabel, self._form, annotation, i)) for i in chosen
        )


def _build_item(annotation: Any, box: Box, value: str, is_multiline: bool) -> _Item | None:
    return _Item(box, value, _read_size(annotation, box), is_multiline) if value.strip() else None


def _read_unlisted_field(annotation: Any, box: Box) -> _Item | None:
    """Read a text field or choice that no form lists, for example in a page that was taken out of a form."""
    number = ctypes.c_float()
    raw.FPDFAnnot_GetNumberValue(annotation, b"Ff", number)
    kind, flags = _read_string(annotation, b"FT"), int(number.value)
    if kind not in _TEXT_FIELDS or (kind == "Tx" and flags & _PASSWORD):
        return None
    return _build_item(annotation, box, _read_string(annotation, b"V"), bool(flags & _MULTILINE))


def _read_box(annotation: Any) -> Box:
    rect = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, rect)
    low, high = min(rect.left, rect.right), max(rect.left, rect.right)
    return cast("Box", (low, min(rect.bottom, rect.top), high, max(rect.bottom, rect.top)))


def _read_string(annotation: Any, key: bytes) -> str:
    return _read_wide(partial(raw.FPDFAnnot_GetStringValue, annotation, key))


def _read_wide(call: Callable[[Any, int], int]) -> str:
    length = call(None, 0)
    if length <= 2:  # noqa: PLR2004 - bytes of the terminator
        return ""
    buffer = ctypes.create_string_buffer(length)
    call(ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "ignore").replace("\0", "")


def _read_size(annotation: Any, box: Box) -> float:
    match = _FONT_SIZE.search(_read_string(annotation, b"DA"))
    return _fit_size(float(match[1]) if match else 0, box)


def _fit_size(size: float, box: Box) -> float:
    return max(1.0, min(size or _USUAL_SIZE, _ROOM * min(box[3] - box[1], box[2] - box[0])))


def _is_within(run: TextRun, box: Box) -> bool:
    across, along = (run.top + run.bottom) / 2, (run.left + run.right) / 2
    return box[0] <= along <= box[2] and box[1] <= across <= box[3]


def _normalize_text(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum()) or "".join(text.split())


def _write(item: _Item, turn: int) -> Iterator[FoundRun]:
    """Place a value in its box."""
    left, bottom, right, top = turn_box(item.box, turn)
    size = item.size
    lines = [each.strip() for each in item.value.splitlines() if each.strip()]
    if item.is_multiline:
        width = max(1, int((right - left) / (_LETTER_WIDTH * size)))
        lines = [part for line in lines for part in wrap(line, width, break_long_words=False)]
    middle = (bottom + top) / 2 - (ASCENT - DESCENT) / 2 * size
    first = middle if len(lines) == 1 else top - size
    step = min(1.2 * size, (top - bottom) / max(1, len(lines)))
    for number, line in enumerate(lines):
        end = min(right, left + _LETTER_WIDTH * size * len(line))
        yield FoundRun(turn, TextRun(line, left, end, first - number * step, size))
