"""Text of annotations: values of form fields, free text, and stamps.

PDFium draws appearances into the page (`FPDFPage_Flatten`), so their text has a position. The value of a
field replaces its appearance text if that text is missing, cut off, or spaced for boxes. Comments, which
readers open one by one, are only counted.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap
from typing import Any, Literal, cast

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf.characters import PageText, open_text, read
from kg_api.convert.pdf.layout import ASCENT, DESCENT, FoundRun, TextRun
from kg_api.convert.pdf.letters import (
    Box,
    PageObjects,
    get_visible_text,
    list_form_texts,
    list_objects,
    turn_box,
)
from kg_api.wording import name_pages, pluralize

CHECKED, UNCHECKED = "☒", "☐"
_MAX_ANNOTATIONS = 5000  # per page
_MAX_EXAMPLE = 80
_HIDDEN, _NO_VIEW = 1 << 1, 1 << 5
_MULTILINE, _PASSWORD = 1 << 12, 1 << 13
_NEED_APPEARANCES = re.compile(rb"/NeedAppearances\s+true")
_FONT_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)\s+Tf")
_USUAL_SIZE, _ROOM = 12.0, 0.7
_LETTER_WIDTH = 0.5
_STAMP = re.compile(r"[A-Z][A-Za-z]{1,30}")
_NO_TEXT = frozenset({
    *(raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_HIGHLIGHT),
    *(raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_SQUIGGLY, raw.FPDF_ANNOT_STRIKEOUT, raw.FPDF_ANNOT_INK),
    *(raw.FPDF_ANNOT_CARET, raw.FPDF_ANNOT_FILEATTACHMENT, raw.FPDF_ANNOT_SOUND),
})  # fmt: skip
"""Kinds with icons or lines only."""
_NO_COMMENT = frozenset({raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_FREETEXT})
_BOXES = frozenset({raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON})


@dataclass(frozen=True, slots=True)
class _Item:
    """Field or other annotation with a text."""

    kind: Literal["value", "mark", "text"]
    """A mark always replaces its appearance, a value if it says more, and a text if no appearance exists."""
    box: Box
    value: str
    size: float = 0
    is_multiline: bool = False


@dataclass(slots=True)
class _Found:
    items: list[_Item] = field(default_factory=list[_Item])
    comments: list[str] = field(default_factory=list[str])
    is_drawn: bool = False  # an appearance may contain text


class Annotations:
    def __init__(self, document: pdfium.PdfDocument, data: bytes) -> None:
        self._document = document
        self._xfa = document.get_formtype() in {raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND}
        if document.get_formtype() != raw.FORMTYPE_NONE:
            document.init_forms()
        self._form: Any = document.formenv.raw if document.formenv else None
        # The file may ask programs to rebuild appearances from the values
        self._stale = bool(_NEED_APPEARANCES.search(data))
        self._comments: dict[int, list[str]] = {}
        self._beyond = 0

    def read_page(self, number: int) -> tuple[pdfium.PdfPage, PageObjects, PageText]:
        page = self._document[number]
        found = self._find(page)
        if not found.is_drawn:
            objects = list_objects(page)
            text, runs = read(page, objects), list[FoundRun]()
        else:
            page, objects, text = self._flatten(page, number)
            runs = text.shown
        text.shown = list(self._place(found.items, runs, text))
        said = _letters(" ".join(each.run.text for each in text.shown))
        if comments := [each for each in found.comments if _letters(each) not in said]:
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
        if self._beyond:
            yield f"skipped: annotations of a page beyond {_MAX_ANNOTATIONS:,} ({self._beyond:,})"
        if self._xfa:
            yield (
                "skipped: the content of the XFA form. To include it, print the form to a PDF and ingest "
                "that file"
            )
        if (count := raw.FPDFDoc_GetAttachmentCount(self._document.raw)) > 0:
            yield f"skipped: {pluralize(count, 'attached file')}. Ingest each as a separate document"

    def _find(self, page: pdfium.PdfPage) -> _Found:
        """Read the annotations of a page. If some will be drawn, remove the others first."""
        found, hidden = _Found(), list[int]()
        count = raw.FPDFPage_GetAnnotCount(page.raw)
        self._beyond += max(0, count - _MAX_ANNOTATIONS)
        for i in range(min(count, _MAX_ANNOTATIONS)):
            annotation: Any = raw.FPDFPage_GetAnnot(page.raw, i)
            if not annotation:
                continue
            try:
                if not self._look(annotation, found):
                    hidden.append(i)
            finally:
                raw.FPDFPage_CloseAnnot(annotation)
        if found.is_drawn:
            for i in reversed(hidden):
                raw.FPDFPage_RemoveAnnot(page.raw, i)
        return found

    def _look(self, annotation: Any, found: _Found) -> bool:
        """Add the text of an annotation, and return whether to draw its appearance."""
        kind: int = raw.FPDFAnnot_GetSubtype(annotation)
        if kind in {raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP}:
            return False
        if raw.FPDFAnnot_GetFlags(annotation) & (_HIDDEN | _NO_VIEW):
            return False
        is_drawn = kind not in _NO_TEXT
        if kind == raw.FPDF_ANNOT_WIDGET:
            is_drawn = self._look_at_field(annotation, found)
        elif contents := _read_string(annotation, b"Contents").strip():
            box = _read_box(annotation)
            if kind not in _NO_COMMENT:
                found.comments.append(contents)
            if kind in {raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP}:
                found.items.append(
                    _Item("text", box, contents, _read_size(annotation, box), is_multiline=True)
                )
        elif kind == raw.FPDF_ANNOT_STAMP and _STAMP.fullmatch(name := _read_string(annotation, b"Name")):
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
            found.items.append(_Item("text", _read_box(annotation), words, _USUAL_SIZE))
        size = raw.FPDFAnnot_GetAP(annotation, raw.FPDF_ANNOT_APPEARANCEMODE_NORMAL, None, 0)
        found.is_drawn = found.is_drawn or (is_drawn and size > 2)  # noqa: PLR2004 - bytes of the terminator
        return is_drawn

    def _look_at_field(self, annotation: Any, found: _Found) -> bool:
        kind: int = raw.FPDFAnnot_GetFormFieldType(self._form, annotation) if self._form else -1
        flags = raw.FPDFAnnot_GetFormFieldFlags(self._form, annotation) if kind > 0 else 0
        box = _read_box(annotation)
        if kind in _BOXES:
            mark = CHECKED if raw.FPDFAnnot_IsChecked(self._form, annotation) else UNCHECKED
            found.items.append(_Item("mark", box, mark, _fit_size(0, box)))
            return False
        if kind == raw.FPDF_FORMFIELD_TEXTFIELD and flags & _PASSWORD:
            return False
        if kind == raw.FPDF_FORMFIELD_LISTBOX:
            found.items.append(_Item("mark", box, self._read_choice(annotation), _read_size(annotation, box)))
            return False
        if kind in {raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX}:
            value = self._read_choice(annotation) or _read_wide(
                partial(raw.FPDFAnnot_GetFormFieldValue, self._form, annotation)
            )
            multiline = kind == raw.FPDF_FORMFIELD_TEXTFIELD and bool(flags & _MULTILINE)
            if value.strip():
                size = _read_size(annotation, box)
                found.items.append(_Item("value", box, value, size, is_multiline=multiline))
        return True

    def _read_choice(self, annotation: Any) -> str:
        """Return the displayed labels of the selected options, which may differ from the stored values."""
        count = raw.FPDFAnnot_GetOptionCount(self._form, annotation)
        chosen = (i for i in range(count) if raw.FPDFAnnot_IsOptionSelected(self._form, annotation, i))
        return ", ".join(
            _read_wide(partial(raw.FPDFAnnot_GetOptionLabel, self._form, annotation, i)) for i in chosen
        )

    def _flatten(self, page: pdfium.PdfPage, number: int) -> tuple[pdfium.PdfPage, PageObjects, PageText]:
        before = list_objects(page)
        text_page = open_text(page, before.texts)
        plain = get_visible_text(text_page.get_text_range(errors="ignore"))
        text_page.close()
        count = raw.FPDFPage_CountObjects(page.raw)
        raw.FPDFPage_Flatten(page.raw, raw.FLAT_NORMALDISPLAY)
        page.close()
        page = self._document[number]
        objects, added = list_objects(page), set[int]()
        for i in range(count, raw.FPDFPage_CountObjects(page.raw)):
            item: Any = raw.FPDFPage_GetObject(page.raw, i)
            if raw.FPDFPageObj_GetType(item) == raw.FPDF_PAGEOBJ_FORM:
                added.update(ctypes.addressof(each.contents) for each in list_form_texts(item))
        text = read(page, objects, added)
        text.plain, text.is_blank = plain, before.is_blank
        return page, objects, text

    def _place(self, items: Sequence[_Item], drawn: Sequence[FoundRun], text: PageText) -> Iterator[FoundRun]:
        left = list(drawn)
        for item in items:
            own = [each for each in left if _is_within(each.run, turn_box(item.box, each.turn))]
            taken = set(map(id, own))
            left = [each for each in left if id(each) not in taken]
            turn = own[0].turn if own else text.rotation if text.turn is None else text.turn
            shown = own if own and not self._replaces_appearance(item, own) else list(_write(item, own, turn))
            # Skip a text that the page content has at the same position.
            place = turn_box(item.box, text.turn or 0)
            there = " ".join(each.text for each in text.pieces if _is_within(each, place))
            words = _letters(" ".join(each.run.text for each in shown))
            yield from () if there and words in _letters(there) else shown
        yield from left

    def _replaces_appearance(self, item: _Item, own: Sequence[FoundRun]) -> bool:
        """Return whether the value replaces its appearance."""
        if item.kind != "value":
            return item.kind == "mark"
        shown, value = " ".join(each.run.text for each in own), _letters(item.value)
        if _letters(shown) == value:
            return shown.split() != item.value.split()  # one box per letter
        return self._stale or _letters(shown) in value


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


def _letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum()) or "".join(text.split())


def _write(item: _Item, own: Sequence[FoundRun], turn: int) -> Iterator[FoundRun]:
    """Place a value in its box, at the position of its appearance if there is one."""
    left, bottom, right, top = turn_box(item.box, turn)
    size = own[0].run.size if own else item.size
    lines = [each.strip() for each in item.value.splitlines() if each.strip()]
    if item.is_multiline:
        width = max(1, int((right - left) / (_LETTER_WIDTH * size)))
        lines = [part for line in lines for part in wrap(line, width, break_long_words=False)]
    middle = (bottom + top) / 2 - (ASCENT - DESCENT) / 2 * size
    first = middle if len(lines) == 1 else top - size
    if own:
        first = max(each.run.baseline for each in own)
    step = min(1.2 * size, (top - bottom) / max(1, len(lines)))
    for number, line in enumerate(lines):
        end = min(right, left + _LETTER_WIDTH * size * len(line))
        yield FoundRun(turn, TextRun(line, left, end, first - number * step, size))
