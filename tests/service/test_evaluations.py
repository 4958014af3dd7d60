from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.client import KgClient
from kg_api.schemas.vocabulary import KeyScope
from tests.support.browsing import signed_in, token_in
from tests.support.evaluations import measured, save
from tests.support.running import Service, wait_until


@pytest.mark.parametrize(
    ("scope", "ontologies", "sees"),
    [("read", None, False), ("write", None, False), ("admin", ["bees"], False), ("admin", None, True)],
)
def test_only_unrestricted_administrators_see_the_machine(
    kg: KgClient,
    service: Service,
    evaluations: Path,
    scope: KeyScope,
    ontologies: list[str] | None,
    *,
    sees: bool,
) -> None:
    made = measured("text", [1], ontology="bees", machine={"system": "Linux-of-mine"})
    save(evaluations, "here", made)
    key = kg.create_key("ada", scope=scope, ontologies=ontologies).key
    with signed_in(service, key) as pages:
        answer = pages.get("/ui/evaluations/one/here")
    assert (answer.status_code, "Linux-of-mine" in answer.text) == (200, sees)


@pytest.mark.usefixtures("evaluations")
def test_deletion_needs_write_scope_and_is_audited(kg: KgClient, service: Service) -> None:
    reading, writing = (kg.create_key(scope, scope=scope).key for scope in ("read", "write"))
    to_delete = "/ui/evaluations/one/text/delete"
    with signed_in(service, reading) as pages:
        sent = {"csrf_token": token_in(pages.get(to_delete))}
        assert pages.post(to_delete, data=sent).status_code == 403
    with signed_in(service, writing) as pages:
        sent = {"csrf_token": token_in(pages.get(to_delete))}
        assert pages.post(to_delete, data=sent).status_code == 303
    wait_until(lambda: any(each.path == to_delete for each in kg.audit("write").entries), 20, lambda: "")
    entry = next(each for each in kg.audit("write").entries if each.path == to_delete)
    assert (entry.method, entry.outcome) == ("POST", {"name": "text", "ontology": "bees"})
