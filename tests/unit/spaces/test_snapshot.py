"""A process shares its snapshots; a service that is opened by itself has its own."""

from __future__ import annotations

from kg_api.spaces.snapshot import forget_snapshots, share_snapshots, snapshots_of
from tests.unit.search.canned import CannedGraph


def test_services_of_a_process_share_their_snapshots() -> None:
    graph = CannedGraph()
    assert snapshots_of(graph) is not snapshots_of(graph)
    share_snapshots(graph)
    try:
        assert snapshots_of(graph) is snapshots_of(graph)
        for _ in range(3):
            snapshots_of(graph).known()
            assert snapshots_of(graph).populating("passage_embedding") == {}
        assert (graph.times("spaces/all"), graph.times("indexes/states")) == (1, 1)
    finally:
        forget_snapshots(graph)
    assert snapshots_of(graph) is not snapshots_of(graph)


def test_a_missing_index_is_looked_for_once_and_then_every_second() -> None:
    graph = CannedGraph()
    snapshots = snapshots_of(graph)
    for _ in range(3):
        assert snapshots.populating("none_such", "passage_embedding") == {"none_such": "not there"}
    assert graph.times("indexes/states") == 2
