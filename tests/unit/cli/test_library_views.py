from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg_api.schemas.documents import DocumentChanged, OntologyList
from kg_api.schemas.images import PageImage
from kg_api.schemas.operations import AuditEntry, AuditPage
from kg_cli.admin.keys import print_entries
from kg_cli.documents.commands import print_changed, print_ontologies, print_page
from tests.unit.search.found import place

CHANGED = {
    "document_id": "0" * 32,
    "ontology": "notes",
    "document": "a.md",
    "title": "A",
    "uri": None,
    "format": "text",
    "characters": 1,
    "sources": 1,
    "updated_at": "2026-01-01T00:00:00Z",
}


def test_metadata_values_are_shown_as_typed(capsys: pytest.CaptureFixture[str]) -> None:
    metadata = {"checked": True, "draft": False, "flags": [True, False], "name": "True", "number": 3}
    print_changed(DocumentChanged.model_validate({**CHANGED, "metadata": metadata}))
    shown = capsys.readouterr()
    lines = [" ".join(line.replace("│", " ").split()) for line in (shown.out + shown.err).splitlines()]
    for expected in ("checked true", "draft false", "flags true, false", "name True", "number 3"):
        assert expected in lines


@pytest.mark.parametrize(
    ("page", "last_page", "told"),
    [
        (1, 1, "(the hit is on page 1), nothing boxed"),
        (3, 5, "pages 3 to 5"),
        (None, None, "is on it, nothing"),
    ],
)
def test_hit_on_a_page_shows_page_command(
    page: int | None, last_page: int | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hit = place("a").model_copy(update={"page": page, "last_page": last_page})
    print_page(PageImage(b"png", 2, 6, 0), tmp_path / "2.png", asked=True, force=False, source=hit)
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("images", "shown"), [([0, 0], False), ([0, 3], True)])
def test_image_count_is_shown_if_present(
    images: list[int], shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = {"space": "default", "documents": 1, "sources": 4, "embedded": 4, "stale": 0}
    ontologies = [{**counts, "ontology": f"o{count}", "images": count} for count in images]
    print_ontologies(OntologyList.model_validate({"ontologies": ontologies}))
    assert ("images" in capsys.readouterr().out) is shown


DOCUMENT = "0123456789abcdef0123456789abcdef"


@pytest.mark.usefixtures("own_consoles")
def test_ids_stay_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = AuditEntry(
        at=datetime(2026, 1, 31, tzinfo=UTC),
        key_id="1f0c5a77",
        key_name="import",
        method="DELETE",
        path=f"/documents/{DOCUMENT}",
        status=200,
        request_id="r",
        outcome={"document": "a/long/name.md", "document_id": DOCUMENT, "documents": 1},
    )
    changes = {"key_name": None, "path": "/ontologies/notes", "status": 500, "outcome": {}}
    broken = done.model_copy(update=changes)
    print_entries(AuditPage(entries=[done, broken], total=3, offset=0, limit=2))
    told = capsys.readouterr()
    first, second, third = told.out.splitlines()
    assert f"import (1f0c5a77)  DELETE /documents/{DOCUMENT}" in first
    assert second == f"    document=a/long/name.md, document_id={DOCUMENT}, documents=1"
    assert "1f0c5a77  DELETE /ontologies/notes  failed (500)" in third
    assert "1 older ones: --offset 2" in told.err
