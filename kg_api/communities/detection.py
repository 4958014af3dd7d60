"""From the concept graph to communities with their members. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from kg_api.communities.association import Matrix, associate
from kg_api.communities.centrality import centrality, share_inside
from kg_api.communities.concept_graph import ConceptGraph
from kg_api.communities.leiden import Cluster, find_clusters
from kg_api.graph.communities.generations import Member, NewCommunity, NewMembership
from kg_api.models.identity import community_id


@dataclass(frozen=True, slots=True)
class Detected:
    """What was found."""

    communities: list[NewCommunity]
    members: list[Member]
    """In the order of their ids."""
    levels: list[int]
    """How many communities each level has."""
    left_out: int
    """Concepts that were looked at and are in none: what ties them is too small a group, or chance."""


def detect_communities(read: ConceptGraph, ontology: str, *, max_size: int, min_size: int) -> Detected:
    """Find the communities of concepts, level by level.

    Args:
        read: the concept graph.
        ontology: whose.
        max_size: a community of more concepts is divided.
        min_size: one of fewer is left out.
    """
    weights = associate(read.incidence)
    clusters = find_clusters(weights, max_size=max_size, min_size=min_size)
    ids = [_id_of(each, ontology, read.concept_ids) for each in clusters]
    members = _members(weights, clusters, ids, read.concept_ids)
    levels = Counter(each.level for each in clusters)
    return Detected(
        communities=_communities(weights, clusters, ids),
        members=members,
        levels=[levels[level] for level in sorted(levels)],
        left_out=len(read.concept_ids) - len(members),
    )


def _id_of(cluster: Cluster, ontology: str, concept_ids: Sequence[str]) -> str:
    return community_id(ontology, cluster.level, [concept_ids[int(each)] for each in cluster.members])


def _communities(weights: Matrix, clusters: Sequence[Cluster], ids: Sequence[str]) -> list[NewCommunity]:
    found = list[NewCommunity]()
    places = Counter[int]()
    for at in sorted(range(len(clusters)), key=lambda at: (-len(clusters[at].members), at)):
        cluster = clusters[at]
        parent = None if cluster.parent is None else ids[cluster.parent]
        inside = share_inside(weights, cluster.members)
        found.append(NewCommunity(ids[at], cluster.level, places[cluster.level], parent, inside))
        places[cluster.level] += 1
    return found


def _members(
    weights: Matrix, clusters: Sequence[Cluster], ids: Sequence[str], concept_ids: Sequence[str]
) -> list[Member]:
    own: dict[int, list[NewMembership]] = {}
    for cluster, identity in zip(clusters, ids, strict=True):
        found = centrality(weights, cluster.members)
        for place, at in enumerate(np.argsort(-found, kind="stable")):
            membership = NewMembership(identity, place, float(found[at]))
            own.setdefault(int(cluster.members[at]), []).append(membership)
    members = [Member(concept_ids[node], tuple(each)) for node, each in own.items()]
    return sorted(members, key=attrgetter("concept_id"))
