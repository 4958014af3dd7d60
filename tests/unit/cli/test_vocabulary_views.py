from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kg_api.graph.relations import report_unknown_type
from kg_api.schemas.concepts import (
    ConceptMerges,
    RelationshipType,
    RelationshipTypes,
    TypeMerges,
    TypeProposals,
)
from kg_api.schemas.embedding import RefusedSources
from kg_cli.admin import concepts as concept_views

MARKED = "is a [bold]kind[/bold] of [x]"
MERGE_ID = "0123456789abcdef" * 2
AT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
PAGE = {"total": 1, "offset": 0, "limit": 9, "ontology": "notes"}
pytestmark = pytest.mark.usefixtures("own_consoles")


def _type(name: str) -> RelationshipType:
    return RelationshipType(name=name, relations=1, also=[name], stance="neutral", embedded=True)


def _type_merges(by: str) -> TypeMerges:
    merge = {"merge_id": MERGE_ID, "ontology": "notes", "into": MARKED, "merged": [MARKED], "at": AT}
    return TypeMerges.model_validate(
        {**PAGE, "merges": [{**merge, "relations": 1, "by": by, "undone_at": AT, "undone_by": by}]}
    )


def _concept_merges(by: str) -> ConceptMerges:
    merge = {"merge_id": MERGE_ID, "ontology": "notes", "concept_id": "c", "into": MARKED, "merged": MARKED}
    how = {"sources": 1, "reason": "plural", "similarity": 0.97, "at": AT}
    return ConceptMerges.model_validate(
        {**PAGE, "merges": [{**merge, **how, "undone_at": AT, "undone_by": by}]}
    )


def _proposals(ontology: str, *proposals: dict[str, Any]) -> TypeProposals:
    about = {"ontology": ontology, "min_similarity": 0.7, "compared": 2, "notes": []}
    return TypeProposals.model_validate({**about, "proposals": proposals})


def test_tables_print_names_unescaped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    concept_views.print_types(RelationshipTypes.model_validate({**PAGE, "types": [_type(MARKED)]}))
    concept_views.print_relationship_merges(_type_merges(MARKED))
    like = {"name": MARKED, "similarity": 0.9, "relations": 1, "shared": 0, "examples": [MARKED]}
    proposal = {"into": MARKED, "relations": 1, "examples": [MARKED], "merged": [like]}
    concept_views.print_proposals(_proposals("notes", proposal))
    concept_views.print_merges(_concept_merges(MARKED))
    told = capsys.readouterr().out
    assert "\\" not in told
    assert told.count(MARKED) == 2 + 4 + 4 + 3


def test_hint_for_type_merge_names_the_ontology(capsys: pytest.CaptureFixture[str]) -> None:
    proposal = {"into": "needs", "relations": 1, "examples": [], "merged": []}
    concept_views.print_proposals(_proposals("my notes", proposal))
    assert "merge INTO TYPE... --ontology 'my notes'" in capsys.readouterr().err


def test_unknown_type_names_the_list_command() -> None:
    assert "`kg admin relationship-types list --ontology notes`" in str(
        report_unknown_type("notes", ["needs"])
    )


def test_empty_rejected_list_suggests_no_retry(capsys: pytest.CaptureFixture[str]) -> None:
    concept_views.print_rejected(RefusedSources(ontology="notes", total=0, sources=[]))
    assert capsys.readouterr().err == "rejected: 0 sources\n"
