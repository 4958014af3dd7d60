from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.client import KgClient
from kg_api.schemas.vocabulary import KeyScope
from tests.support.browsing import signed_in
from tests.support.evaluations import measured, save
from tests.support.running import Service


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
