"""A PDF with pages that are pictures, as a converting process reads it when it is asked to use OCR."""

from __future__ import annotations

from kg_api.api_settings import ConversionSettings
from kg_api.convert.ocr.choice import EngineName
from kg_api.convert.ocr.engines import open_engine
from kg_api.convert.ocr.records import OcrFailed
from kg_api.convert.pdf import convert as convert_pdf
from kg_api.convert.pdf.pictures.reading import PictureReader
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted


def convert(
    data: bytes, engine: EngineName, settings: ConversionSettings, *, every: bool = False
) -> Converted:
    """Make Markdown of it.

    Args:
        data: the file.
        engine: what reads its pages.
        settings: bounds of that.
        every: whether it reads all pages, also those with text.

    Raises:
        UnreadableDocument: it is broken or protected, or the engine cannot be used.
    """
    try:
        reader = PictureReader(open_engine(engine, settings), settings, every)
    except OcrFailed as error:
        raise UnreadableDocument(str(error)) from None
    return convert_pdf(data, settings, reader)
