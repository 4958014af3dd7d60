"""The audit log in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kg_api.schemas.operations import AuditEntry
from kg_api.web.ui.audit import DEEDS, deed_of
from tests.support.routes import PAGES, PUBLIC_PAGES, ROUTES

DECISIONS = ("accept", "reject", "undo")


def entry(request: str, status: int = 200, **outcome: Any) -> AuditEntry:
    method, path = request.split(" ", 1)
    about = {"method": method, "path": path, "status": status, "outcome": outcome}
    return AuditEntry.model_validate({"at": datetime.now(UTC), "key_id": "local", "request_id": "r", **about})


def test_there_are_words_for_all_that_changes_something_and_nothing_else() -> None:
    scopes = {**ROUTES, **PAGES, **dict.fromkeys(PUBLIC_PAGES, "write")}
    changing = {each for each, scope in scopes.items() if scope != "read" and not each.startswith("GET ")}
    changing |= {"POST /ui/logout"}  # any key may
    decided = "POST /ui/proposals/{proposal_id}/{decision}"
    changing |= {decided.replace("{decision}", each) for each in DECISIONS}
    assert DEEDS.keys() == changing - {decided}


@pytest.mark.parametrize("route", DEEDS)
def test_a_request_is_told_by_its_own_route(route: str) -> None:
    sent = route.replace("{", "my-").replace("}", "")
    assert deed_of(entry(sent)).words == DEEDS[route]


@pytest.mark.parametrize(
    ("request_line", "outcome", "words"),
    [
        ("DELETE /documents/a/b c.md", {}, ("Deleted the document", "a/b c.md", "")),
        (f"DELETE /documents/{'0123456789abcdef' * 4}", {}, ("Deleted the document", "0123456789ab…", "")),
        ("POST /documents", {"document": "a", "ontology": "o"}, ("Added a document", "a", "o")),
        ("DELETE /ontologies/notes", {"documents": 3}, ("Deleted the ontology", "", "notes")),
        ("POST /keys", {"name": "ada", "key_id": "k"}, ("Made the key", "ada", "")),
        ("PUT /ontologies/o/language", {"dry_run": True}, ("Only tried: set the language", "", "o")),
        ("PUT /ontologies/o/synonyms", {"applied": False}, ("Only tried: set the synonyms", "", "o")),
        ("POST /ui/judgements", {"judgements": 1}, ("Took judgements back", "", "")),
        ("POST /ui/judgements", {"relevance": 2}, ("Judged a passage as an answer", "", "")),
        ("POST /of/another/kg", {"ontology": "o"}, ("", "", "o")),
    ],
)  # fmt: skip
def test_what_was_dealt_with_is_named(
    request_line: str, outcome: dict[str, Any], words: tuple[str, str, str]
) -> None:
    deed = deed_of(entry(request_line, **outcome))
    assert (deed.words, deed.subject, deed.ontology) == words


def test_what_failed_says_so() -> None:
    assert deed_of(entry("DELETE /documents/a.md", 503)).words == "Failed: deleted the document"
