import json
from typing import Any

import pytest
from pydantic import ValidationError

from kg_api.ingest.records import Incoming, build_incoming, to_record
from kg_api.providers.chat import select_short_metadata
from kg_api.schemas.documents import DocumentRecord, DocumentUpload
from kg_api.schemas.embedding import select_context_fields
from kg_api.schemas.metadata import MetadataValue, format_file_time

FILE = "2025-03-01T09:30:00Z"
OTHER = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        *((given, FILE) for given in (FILE, "2025-03-01T10:30:00.75+01:00", "2025-03-01 09:30")),
        ("2025-03-01", "2025-03-01T00:00:00Z"),
    ],
)
def test_file_time_is_stored_in_utc(given: str, stored: str) -> None:
    upload = DocumentUpload.model_validate({"ontology": "o", "document": "d", "modified": given})
    assert upload.modified == build_incoming(upload, "").modified == stored


@pytest.mark.parametrize("given", ["yesterday", "2025", "2025-02-30", 1740821400, ""])
def test_invalid_file_time_is_rejected(given: object) -> None:
    with pytest.raises(ValidationError, match="modified"):
        DocumentUpload.model_validate({"ontology": "o", "document": "d", "modified": given})


def test_file_time_beyond_the_calendar_is_none() -> None:
    assert format_file_time(1e300) is None


def recorded(text: str, metadata: dict[str, MetadataValue], modified: str | None = FILE) -> DocumentRecord:
    return to_record(Incoming("o", "d.md", text, metadata=metadata, modified=modified))[0]


@pytest.mark.parametrize(
    ("text", "metadata", "stored"),
    [
        ("Plain.", {}, {"modified": FILE}),
        ("Plain.", {"date": "someday"}, {"date": "someday", "modified": FILE}),
        ("---\ndate: 2020-02-01\n---\nText.", {}, {"date": "2020-02-01"}),
        ("---\nmodified: 2020-02-01\n---\nText.", {}, {"modified": "2020-02-01"}),
        ("Plain.", {"date": 2024}, {"date": 2024}),
        ("Plain.", {"date": 9999}, {"date": 9999, "modified": FILE}),
        ("Plain.", {"created": "2019-05"}, {"created": "2019-05"}),
    ],
)
def test_file_time_is_stored_without_a_stated_date(
    text: str, metadata: dict[str, MetadataValue], stored: dict[str, MetadataValue]
) -> None:
    assert json.loads(recorded(text, metadata).metadata) == stored


@pytest.mark.parametrize(
    ("own", "title"),
    [
        ({}, "Heading"),
        ({"own_title": "Of the file"}, "Of the file"),
        ({"own_title": "Of the file", "title": "Given"}, "Given"),
    ],
)
def test_title_of_the_file_comes_before_its_headings(own: dict[str, Any], title: str) -> None:
    assert to_record(Incoming("o", "d.md", "# Heading\n\nText.", **own))[0].title == title


def test_file_time_does_not_change_a_document() -> None:
    same = [recorded("Text.", {"a": 1}, modified) for modified in (None, FILE, OTHER)]
    assert len({each.content_hash for each in same}) == 1
    assert [each.has_file_time for each in same] == [False, True, True]
    assert recorded("Text.", {"a": 2}).content_hash != same[0].content_hash


def test_file_time_is_excluded_from_prompts_and_contexts() -> None:
    known: dict[str, MetadataValue] = {"author": "Ada", "modified": FILE}
    for kind in ("llm", "template"):
        fields = select_context_fields(kind, None, "T", known)
        assert fields == select_context_fields(kind, None, "T", {"author": "Ada"})
    assert select_short_metadata(known) == (("author", "Ada"),)


@pytest.mark.parametrize(
    ("name", "metadata", "date"),
    [
        ("minutes/2025-10-23 Protokoll.pdf", {}, "2025-10-23"),
        ("20251023_x.txt", {}, "2025-10-23"),
        ("2025-10-23.md", {"modified": FILE}, "2025-10-23"),
        ("2025-10-23 a.md", {"date": "2020"}, "2020"),
        ("2025-10-23 a.md", {"published": "2020-01"}, None),
        ("2025-10-23 a.md", {"date": "someday"}, "someday"),
        *((name, {}, None) for name in ("2025-13-23.md", "202510231.md", "2025-1023.md", "a 2025-10-23.md")),
        *((name, {}, None) for name in ("2025-10-23/a.md", "18991023.md")),
    ],
)
def test_date_at_the_start_of_a_name(name: str, metadata: dict[str, MetadataValue], date: str | None) -> None:
    record = to_record(Incoming("o", name, "Text.", "text", metadata=metadata, modified=OTHER))[0]
    assert json.loads(record.metadata).get("date") == date
    if name == "20251023_x.txt":
        assert not record.has_file_time
