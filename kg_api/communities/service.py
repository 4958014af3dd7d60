"""Communities as they are asked for."""

from __future__ import annotations

from kg_api.communities.centrality import name_of
from kg_api.communities.requests import CommunityRequests
from kg_api.communities.summary import CommunitySummary
from kg_api.graph.communities.reads import (
    documents_of,
    find_community,
    members_of,
    page_of_communities,
    passages_of,
)
from kg_api.graph.database import Graph, Row
from kg_api.model_settings.communities import CommunitySettings
from kg_api.models.communities.communities import (
    Communities,
    Community,
    CommunityDetails,
    CommunityRequest,
)

NONE_YET = "communities have not been detected yet: a worker does it when concepts have been found"
OTHER_SETTINGS = "communities are being detected again: KG_COMMUNITIES__* settings have changed"


class CommunityService:
    """Communities of each ontology."""

    def __init__(self, graph: Graph, settings: CommunitySettings) -> None:
        self._graph = graph
        self._settings = settings
        self._requests = CommunityRequests(graph, settings)
        self.look = self._requests.look
        """Make the jobs of ontologies of which enough has changed."""

    def page(self, ontology: str, *, level: int, parent: str | None, offset: int, limit: int) -> Communities:
        """Communities of a level, or the parts of one, the largest first.

        Args:
            ontology: which.
            level: 0 is the coarsest.
            parent: the id of a community, or its beginning: its parts, whatever the level says.
            offset: so many are skipped.
            limit: so many are given at most.

        Raises:
            NotFound: there is no such ontology, or no such parent.
        """
        whole = find_community(self._graph, ontology, parent) if parent else None
        parent_id, level = (whole["community_id"], whole["level"] + 1) if whole else (None, level)
        state, found, total = page_of_communities(
            self._graph, ontology, level=level, parent_id=parent_id, offset=offset, limit=limit
        )
        summary = CommunitySummary.model_validate_json(state.summary) if state.summary else None
        known = summary.model_dump(include={"levels", "grouped", "left_out", "concepts"}) if summary else {}
        return Communities(
            ontology=ontology,
            communities=[_community(each) for each in found],
            level=level,
            parent_id=parent_id,
            computed_at=state.at,
            changed=self._requests.changed(state) if summary else 0.0,
            total=total,
            offset=offset,
            limit=limit,
            notes=self._notes(summary),
            **known,
        )

    def find(self, ontology: str, called: str, *, concepts: int, passages: int) -> CommunityDetails:
        """One community with so many of its concepts, and of the passages and documents that say most of it.

        Raises:
            NotFound: there is no such ontology, or community.
            Conflict: several ids begin so.
        """
        found = find_community(self._graph, ontology, called)
        return CommunityDetails(
            **_community(found).model_dump(),
            ontology=ontology,
            concepts=members_of(self._graph, found, offset=0, limit=concepts),
            passages=passages_of(self._graph, found, passages),
            documents=documents_of(self._graph, found, passages),
            computed_at=found["computed_at"],
        )

    def detect(self, ontology: str) -> CommunityRequest:
        """Detect communities now.

        Raises:
            NotFound: there is no such ontology.
            TooBusy: too many jobs wait.
        """
        return CommunityRequest(ontology=ontology, job_id=self._requests.begin(ontology))

    def _notes(self, summary: CommunitySummary | None) -> list[str]:
        if summary is None:
            return [NONE_YET if self._settings.enabled else f"{NONE_YET}, once it is asked to"]
        return [OTHER_SETTINGS] if self._requests.is_outdated(summary) else []


def _community(row: Row) -> Community:
    return Community.model_validate({**row, "name": name_of(row["labels"])})
