from collections.abc import Callable
from typing import Any

import neo4j
from neo4j.time import DateTime

from kg_api.client import KgClient
from tests.service.conftest import sharing
from tests.service.test_relationship_types import store_told
from tests.support.cypher import rows

shared = sharing(store_told)
CHANGES: dict[str, Callable[[KgClient], Any]] = {
    "title": lambda kg: kg.change_document("a.md", ontology="notes", title="Leases", metadata={"year": 2026}),
    "embedding": lambda kg: kg.set_embedding_config("notes", chunk_size=100, strategy="sentence"),
    "extraction": lambda kg: kg.set_extraction_config("notes", per_source=3),
    "judgement": lambda kg: kg.judge("notes", question="a lease?", source_id="a.md#0", relevance=2, by="Ada"),
    "language": lambda kg: kg.set_language("notes", "de"),
    "merge": lambda kg: kg.merge_relationship_types("notes", into="needs", merged=["requires a"], by="Ada"),
    "stance": lambda kg: kg.set_relationship_stance("notes", "needs", "contradicts"),
    "synonyms": lambda kg: kg.set_synonyms("notes", [["lease", "hold"]]),
    "undo": lambda kg: kg.undo_type_merge(
        "notes", kg.relationship_type_merges("notes").merges[0].merge_id or ""
    ),
    "delete": lambda kg: kg.delete_documents(["title=Leases"], dry_run=False),
}


def list_content(driver: neo4j.Driver) -> list[str]:
    """Return all nodes and relationships without times, logs, counters of writes, and jobs."""
    nodes = (
        "MATCH (n) WHERE NOT n:AuditEntry|DocumentWrite|Job RETURN labels(n) AS kind, properties(n) AS has"
    )
    between = "MATCH ()-[r]->() RETURN [type(r)] AS kind, properties(r) AS has"
    found = [*rows(driver, nodes), *rows(driver, between)]
    return sorted(
        f"{row['kind']} {sorted((k, v) for k, v in row['has'].items() if not isinstance(v, DateTime))}"
        for row in found
    )


def test_repeated_change_has_no_further_effect(told: KgClient, driver: neo4j.Driver) -> None:
    before = list_content(driver)
    for name, change in CHANGES.items():
        change(told)
        after = list_content(driver)
        assert before != after, name
        change(told)
        before = list_content(driver)
        assert before == after, name
