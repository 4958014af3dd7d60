"""Which pages OCR reads, from the request to the converter."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import incoming_of
from kg_api.schemas.documents import Converted, DocumentUpload
from kg_api.schemas.formats import ConvertedFormat, OcrMode


class Asked:
    """Says what it was asked for."""

    def convert(self, data: bytes, form: ConvertedFormat, ocr: OcrMode = "auto") -> Converted:
        return Converted(f"{form} {ocr} {len(data)}")

    def convert_with(self, data: bytes, form: str, beside: Mapping[str, bytes]) -> Converted:
        raise NotImplementedError

    def pictures_read_by(self) -> str:
        return ""


@pytest.mark.parametrize("sent", [{}, {"ocr": "always"}, {"ocr": "never"}])
def test_ocr_field_reaches_the_converter(sent: dict[str, str]) -> None:
    upload = DocumentUpload.model_validate({"ontology": "notes", "document": "a.pdf", **sent})
    read, _ = DocumentReader(Asked()).from_bytes(b"%PDF-", incoming_of(upload, ""))
    assert read.text == f"pdf {sent.get('ocr', 'auto')} 5"
