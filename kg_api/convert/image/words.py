"""What OCR reads on a picture that is a document of its own."""

from __future__ import annotations

import numpy as np
from PIL import Image

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.opening import opened
from kg_api.convert.image.preview import shown
from kg_api.convert.ocr.choice import EngineName
from kg_api.convert.ocr.engines import open_engine
from kg_api.convert.ocr.records import OcrFailed, Picture, PixelLine, mean_confidence
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted

MIN_CONFIDENCE = 0.7
"""More than of a page, which is text for certain: on photographs OCR sees letters where there are none."""
MAX_CHARACTERS = 20_000


def convert(data: bytes, engine: EngineName, settings: ConversionSettings) -> Converted:
    """The lines that OCR is sure of, from top to bottom as the engine gives them; there may be none.

    Raises:
        UnreadableDocument: it is no picture, or the engine cannot be used.
    """
    try:
        with opened(data, settings.image_max_megapixels) as picture:
            grey = _grey(picture, settings.ocr_max_megapixels * 1e6)
        lines = open_engine(engine, settings).read(grey, settings.ocr_max_seconds)
    except OcrFailed as error:
        raise UnreadableDocument(str(error)) from None
    sure = [line for line in lines if line.confidence >= MIN_CONFIDENCE]
    text = "\n".join(" ".join(word.text for word in line.words) for line in sure)[:MAX_CHARACTERS]
    return Converted(text, notes=_notes(sure, engine))


def _notes(lines: list[PixelLine], engine: EngineName) -> tuple[str, ...]:
    if not lines:
        return ()
    mean = mean_confidence([(word.text, word.confidence) for line in lines for word in line.words])
    return (f"its words were read by OCR ({engine}, confidence {mean:.0%})",)


def _grey(picture: Image.Image, max_pixels: float) -> Picture:
    return np.asarray(shown(picture, max_pixels).convert("L"))
