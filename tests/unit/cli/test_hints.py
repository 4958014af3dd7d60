from __future__ import annotations

import pytest

from kg_api.graph.relations import report_unknown_type
from kg_api.schemas.concepts import TypeProposals
from kg_api.schemas.embedding import RefusedSources
from kg_cli.admin import concepts as concept_views

pytestmark = pytest.mark.usefixtures("own_consoles")


def test_hint_for_type_merge_names_the_ontology(capsys: pytest.CaptureFixture[str]) -> None:
    proposal = {"into": "needs", "relations": 1, "examples": [], "merged": []}
    told = {
        "ontology": "my notes",
        "min_similarity": 0.7,
        "compared": 2,
        "proposals": [proposal],
        "notes": [],
    }
    concept_views.print_proposals(TypeProposals.model_validate(told))
    assert "merge INTO TYPE... --ontology 'my notes'" in capsys.readouterr().err


def test_unknown_type_names_the_list_command() -> None:
    assert "`kg admin relationship-types list --ontology notes`" in str(
        report_unknown_type("notes", ["needs"])
    )


def test_empty_rejected_list_suggests_no_retry(capsys: pytest.CaptureFixture[str]) -> None:
    concept_views.print_rejected(RefusedSources(ontology="notes", total=0, sources=[]))
    assert capsys.readouterr().err == "rejected: 0 sources\n"
