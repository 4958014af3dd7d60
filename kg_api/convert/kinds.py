"""Which module reads which kind of file; it is imported when the first such file comes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from kg_api.api_settings import ConversionSettings
from kg_api.convert.ocr.choice import EngineName
from kg_api.embed.image.port import Rendering
from kg_api.models.images import DrawnPage, PageToDraw, RenderedImage
from kg_api.models.library.conversion import Converted
from kg_api.models.library.formats import ConvertedFormat
from kg_api.models.library.parsing import CodeScope

_MODULES: dict[ConvertedFormat, str] = {
    "html": "html.page",
    "pdf": "pdf",
    "epub": "epub",
    "docx": "docx",
    "pptx": "pptx",
    "spreadsheet": "spreadsheet",
    "csv": "delimited",
    "email": "mail",
    "notebook": "notebook",
    "image": "image.document",
}
_OF_IMAGES = frozenset[ConvertedFormat]({"image", "html", "epub", "docx", "pptx", "pdf", "email", "notebook"})
"""What may hold pictures: their modules are told how large one may be, and what is kept of it."""


class _Converter(Protocol):
    def convert(self, data: bytes) -> Converted: ...


class _ImageConverter(Protocol):
    def convert(self, data: bytes, settings: ConversionSettings) -> Converted: ...


class _ConverterWithFiles(Protocol):
    def convert(
        self, data: bytes, settings: ConversionSettings, beside: Mapping[str, bytes]
    ) -> Converted: ...


class _PictureConverter(Protocol):
    def convert(self, data: bytes, engine: EngineName, settings: ConversionSettings) -> Converted: ...


class _PageConverter(Protocol):
    def convert(
        self, data: bytes, engine: EngineName, settings: ConversionSettings, *, every: bool
    ) -> Converted: ...


class _Renderer(Protocol):
    def render(self, data: bytes, rendering: Rendering, settings: ConversionSettings) -> RenderedImage: ...


class _PageDrawer(Protocol):
    def draw_page(self, wanted: PageToDraw, data: bytes) -> DrawnPage: ...


class _ScopeFinder(Protocol):
    def find_scopes(self, data: bytes, suffix: str) -> list[CodeScope]: ...


def convert(data: bytes, form: ConvertedFormat, settings: ConversionSettings) -> Converted:
    """Make Markdown of a file, in this process.

    Raises:
        UnreadableDocument: it is broken, protected or holds no text; the message says what to do.
    """
    module = import_module(f"kg_api.convert.{_MODULES[form]}")
    if form in _OF_IMAGES:
        return cast("_ImageConverter", module).convert(data, settings)
    return cast("_Converter", module).convert(data)


def convert_with(
    data: bytes, form: str, settings: ConversionSettings, beside: Mapping[str, bytes]
) -> Converted:
    """Make Markdown of a page, or find the places in a Markdown text, with the pictures that lie beside it.

    Args:
        data: the document.
        form: `html` or `markdown`.
        settings: bounds of the pictures.
        beside: by their references.

    Raises:
        UnreadableDocument: it is broken or holds no text; the message says what to do.
    """
    name = "html.page" if form == "html" else "image.in_markdown"
    module = cast("_ConverterWithFiles", import_module(f"kg_api.convert.{name}"))
    return module.convert(data, settings, beside)


def convert_pictures(
    data: bytes, engine: EngineName, settings: ConversionSettings, *, every: bool = False
) -> Converted:
    """Make Markdown of a PDF with pages that are pictures, in this process.

    Args:
        data: the file.
        engine: what reads those pages.
        settings: bounds of that.
        every: whether it reads all pages, also those with text.

    Raises:
        UnreadableDocument: it is broken or protected, or the engine cannot be used.
    """
    module = cast("_PageConverter", import_module("kg_api.convert.pdf.pictures.document"))
    return module.convert(data, engine, settings, every=every)


def read_words(data: bytes, engine: EngineName, settings: ConversionSettings) -> Converted:
    """Read the words on a picture that is a document of its own, in this process.

    Raises:
        UnreadableDocument: it is no picture, or the engine cannot be used.
    """
    module = cast("_PictureConverter", import_module("kg_api.convert.image.words"))
    return module.convert(data, engine, settings)


def render(data: bytes, rendering: Rendering, settings: ConversionSettings) -> RenderedImage:
    """Unpack a picture for a model that sees, in this process.

    Raises:
        UnreadableDocument: it is no picture, it is too large, or it is damaged.
    """
    module = cast("_Renderer", import_module("kg_api.convert.image.rendering"))
    return module.render(data, rendering, settings)


def draw_page(wanted: PageToDraw, data: bytes) -> DrawnPage:
    """Draw a page of a PDF, in this process.

    Raises:
        UnreadableDocument: it is broken, or there is something far too large on it.
    """
    module = cast("_PageDrawer", import_module("kg_api.convert.pdf.pages.drawing"))
    return module.draw_page(wanted, data)


def find_scopes(data: bytes, suffix: str) -> list[CodeScope]:
    """Find the functions and classes of a program, in this process.

    Raises:
        UnreadableDocument: it is too large, or takes too much work.
    """
    return cast("_ScopeFinder", import_module("kg_api.convert.program.scopes")).find_scopes(data, suffix)
