from collections.abc import Callable

import pytest

from kg_api.graph.document_writes import store_document
from kg_api.spaces.snapshot import OntologySnapshot, Snapshots
from tests.support.kg import Kg
from tests.support.records import record


def read_fresh(snapshots: Snapshots) -> OntologySnapshot:
    return snapshots.get(fresh=True)


def read_wanted(snapshots: Snapshots) -> OntologySnapshot:
    return snapshots.get(["later"])


def read_with_new(snapshots: Snapshots) -> OntologySnapshot:
    return snapshots.get(new_too=True)


@pytest.mark.parametrize("read", [read_fresh, read_wanted, read_with_new])
def test_new_ontology_is_read_in_spite_of_the_cache(
    kg: Kg, read: Callable[[Snapshots], OntologySnapshot]
) -> None:
    snapshots = Snapshots(kg.graph)
    assert [*snapshots.get().embedding_states] == ["notes"]
    store_document(kg.graph, record("b.md", ["two"], ontology="later"))
    assert {*read(snapshots).embedding_states} == {"later", "notes"}
