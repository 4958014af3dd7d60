"""What a community is called, and how far it is behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy import sparse

from kg_api.discovery.communities import (
    CommunitySummary,
    ConceptGraph,
    centrality,
    detect_communities,
    mark_of,
    name_of,
    share_inside,
)
from kg_api.graph.communities import OntologySize
from kg_api.settings import CommunitySettings

SIZE = OntologySize(concepts=100, relationships=10, sources=50, written=0, at=datetime.now(UTC))
SUMMARY = CommunitySummary(
    mark="m", levels=[2], grouped=90, left_out=5, concepts=100, relationships=10, sources=50
)


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["harbour", "lighthouse", "pilot boat", "tide"], "harbour, lighthouse, pilot boat"),
        (["wheels", "variant wheels", "Wheel", "installer"], "wheels, installer"),
        (["pilot boat", "boat", "boats"], "pilot boat"),
        ([], ""),
    ],
)
def test_a_name_has_three_that_say_something_else(labels: list[str], name: str) -> None:
    assert name_of(labels) == name


def test_what_is_everywhere_is_less_the_communitys_own() -> None:
    table = np.zeros((6, 6))
    for one, other, weight in ((0, 1, 4.0), (0, 2, 3.0), (1, 2, 3.0), (0, 3, 9.0), (0, 4, 9.0)):
        table[one, other] = table[other, one] = weight
    found = centrality(sparse.csr_array(table), np.array([0, 1, 2]))
    assert found.argmax() == 1
    assert found.max() == 1
    assert share_inside(sparse.csr_array(table), np.array([0, 1, 2])) == pytest.approx(20 / 38)
    assert centrality(sparse.csr_array(table), np.array([5])).tolist() == [0]


@pytest.mark.parametrize(
    ("now", "share"),
    [
        (SIZE, 0),
        (replace(SIZE, written=5), 0.1),
        (replace(SIZE, sources=40), 0.2),
        (replace(SIZE, concepts=130), 0.3),
        (replace(SIZE, relationships=14), 0.4),
        (replace(SIZE, relationships=100), 1),
    ],
)
def test_what_changed_most_counts(now: OntologySize, share: float) -> None:
    assert SUMMARY.changed(now) == pytest.approx(share)


def test_other_settings_find_others() -> None:
    usual = mark_of(CommunitySettings())
    assert mark_of(CommunitySettings(max_size=50)) != usual
    assert mark_of(CommunitySettings(enabled=False, changed_share=0.5)) == usual


def test_ids_and_order_come_from_the_members() -> None:
    rows = [[1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]]
    read = ConceptGraph(list("abcdefg"), sparse.csr_array(np.array(rows * 3, dtype=np.float32)))
    found, again = (detect_communities(read, "notes", max_size=100, min_size=3) for _ in range(2))
    assert found == again
    assert [(each["level"], each["place"]) for each in found.communities] == [(0, 0), (0, 1)]
    assert [each["concept_id"] for each in found.members] == list("abcdefg")
    other = detect_communities(read, "other", max_size=100, min_size=3)
    assert {each["community_id"] for each in other.communities}.isdisjoint(
        each["community_id"] for each in found.communities
    )
    assert (found.levels, found.left_out) == ([2], 0)
    assert all(each["inside"] == pytest.approx(1) for each in found.communities)
