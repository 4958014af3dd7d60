from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg_api.schemas.images import PageImage
from kg_api.schemas.operations import AuditEntry, AuditPage
from kg_cli.admin.keys import print_entries
from kg_cli.documents.commands import print_page
from tests.unit.search.found import place


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
