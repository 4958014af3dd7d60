"""One query while it is done: what its steps see, what they have built, and what they left out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from kg_api.constructive.working_set import WorkingEdge, WorkingNode, WorkingSet
from kg_api.errors import TookTooLong
from kg_api.graph.search.passages import Filters
from kg_api.models.constructive.query import ConstructiveQuery
from kg_api.models.constructive.subgraph import Cut
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import MAX_SUBGRAPH_EDGES, MAX_SUBGRAPH_NODES
from kg_api.spaces.plans import OntologySnapshot
from kg_api.wording.plural import pluralize


@dataclass(slots=True)
class QueryProgress:
    """Shared by the steps of one query."""

    query: ConstructiveQuery
    known: OntologySnapshot
    """All ontologies."""
    ontologies: frozenset[str]
    """Those there are of the ones that the query sees."""
    filters: Filters
    """What all steps see."""
    until: float
    """When nothing more is to be searched, by the monotonic clock."""
    document_ids: frozenset[str] | None = None
    """Those of `filters`, to look one up."""
    built: WorkingSet = field(default_factory=WorkingSet)
    cut: list[Cut] = field(default_factory=list[Cut])
    """By the present step."""
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    unseen: list[str] = field(default_factory=list[str])
    """Why there is nothing to search, or nothing was found."""
    unfitting: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """By the number of a filter that no document fits, why."""

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.until

    def note_late(self, what: str, error: TookTooLong | None = None) -> None:
        """Tell what was not done: the query's time was up, or a statement of the database took too long."""
        over = f"the query's {self.query.seconds:g} s were over"
        effect = f"{what}: {over if error is None or self.is_late else error}"
        self.cut.append(Cut(by="time", effect=effect))

    def sees(self, node: WorkingNode) -> bool:
        """Whether the query is about a node's ontology and document."""
        if node.ontology not in self.ontologies:
            return False
        ids = self.document_ids
        return ids is None or node.document_id is None or node.document_id in ids

    def add(self, nodes: Sequence[WorkingNode], limit: int) -> int:
        """Take nodes in, the new ones up to a limit and as many as a subgraph may have; how many are new."""
        room = MAX_SUBGRAPH_NODES - len(self.built.nodes)
        new = list(dict.fromkeys(each.id for each in nodes if each.id not in self.built.nodes))
        taken = {*new[: min(limit, room)]}
        for each in nodes:
            if each.id in taken or each.id in self.built.nodes:
                self.built.add(each)
        self._note_left_out(len(new), limit, room)
        return len(taken)

    def connect(self, edge: WorkingEdge) -> bool:
        """Take an edge in if both of its nodes are there; False: there are too many edges."""
        if not {*edge.ends} <= self.built.nodes.keys():
            return True
        if edge.key not in self.built.edges and len(self.built.edges) >= MAX_SUBGRAPH_EDGES:
            return False
        self.built.connect(edge)
        return True

    def _note_left_out(self, new: int, limit: int, room: int) -> None:
        left_out = new - min(limit, room)
        if left_out <= 0:
            return
        what = pluralize(left_out, "node")
        if room < limit:
            effect = f"{what} left out: a subgraph has at most {MAX_SUBGRAPH_NODES}; put a limit step before"
            self.cut.append(Cut(by="nodes", left_out=left_out, effect=effect))
        else:
            effect = f"{what} left out, the farthest and least sure: the step brings at most {limit}"
            self.cut.append(Cut(by="limit", left_out=left_out, effect=effect))

    def note_degraded(self, degraded: Sequence[Degradation]) -> None:
        """What could not be done, each once."""
        self.degraded += [each for each in degraded if each not in self.degraded]
