"""Routes for concepts, relationships, communities, link proposals, and constructive queries."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from kg_api.access.keys import limit_to_visible
from kg_api.concepts import relations
from kg_api.graph import concept_merges
from kg_api.graph import proposals as stored_proposals
from kg_api.graph import relations as stored_relations
from kg_api.graph.names import list_searched_ontologies
from kg_api.schemas.base import NodeId, Text
from kg_api.schemas.communities import Communities, CommunityDetails
from kg_api.schemas.concepts import (
    ConceptContext,
    ConceptDetails,
    ConceptHits,
    ConceptList,
    ConceptMerge,
    ConceptMerges,
    ConceptPaths,
    Decision,
    Hops,
    Phrase,
    RelatedConcepts,
    RelationshipHits,
    RelationshipSearch,
    RelationshipType,
    RelationshipTypes,
    StanceChange,
    TypeMerge,
    TypeMerges,
    TypeMerging,
    TypeProposals,
)
from kg_api.schemas.constructive import ConstructiveQuery, Subgraph
from kg_api.schemas.operations import JobStarted
from kg_api.schemas.proposals import Proposal, Proposals
from kg_api.schemas.vocabulary import (
    ALIKE,
    MAX_CENTRAL_PASSAGES,
    MAX_EVIDENCE,
    MAX_HOPS,
    MAX_LIMIT,
    MAX_ONTOLOGIES,
    MAX_PAGE,
    MAX_PASSAGES,
    MAX_PATHS,
    MAX_RELATED,
    MAX_WINDOW,
    ProposalKind,
    ProposalState,
)
from kg_api.web.shared.dependencies import ConceptId, Offset, Ontology, OntologyFilter, Open, PageSize
from kg_api.web.shared.routes import Routes, declare_example

communities = Routes("communities")

OF_ONTOLOGY = "/ontologies/{ontology}/communities"
CommunityId = Annotated[NodeId, Path(description="Id of a community, or a unique prefix of it.")]
Concepts = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of its concepts.")]
Passages = Annotated[
    int, Query(ge=1, le=MAX_CENTRAL_PASSAGES, description="Maximum passages, and documents.")
]


@communities.get(OF_ONTOLOGY, "read", "List the communities of an ontology's concepts")
def list_communities(
    container: Open, ontology: Ontology, *, offset: Offset = 0, limit: PageSize = 100
) -> Communities:
    """Return communities, largest first. `changed` is the share that changed since the detection."""
    return container.communities.list_communities(ontology, offset=offset, limit=limit)


@communities.get(OF_ONTOLOGY + "/{community_id}", "read", "Get a community with its concepts and passages")
def get_community(
    container: Open,
    ontology: Ontology,
    community_id: CommunityId,
    *,
    concepts: Concepts = 20,
    passages: Passages = 5,
) -> CommunityDetails:
    return container.communities.find(ontology, community_id, concepts=concepts, passages=passages)


@communities.post(OF_ONTOLOGY, "write", "Detect communities now", status_code=202)
def detect_communities(container: Open, ontology: Ontology) -> JobStarted:
    """Start a job to detect communities, if there is none. Workers will do this when enough has changed."""
    return container.communities.detect(ontology)


# Concepts

concepts = Routes("concepts")

PATH_END = "Id or name of a concept, or a phrase for it."
Steps = Annotated[Hops, Query(description="Maximum number of hops.")]
Ontologies = Annotated[
    list[Text] | None, Query(min_length=1, max_length=MAX_ONTOLOGIES, description="Further ontologies.")
]
Related = Annotated[int, Query(ge=1, le=MAX_RELATED, description="How many concepts.")]


@concepts.get(
    "/concepts/search", "read", "Search concepts using vectors, full text, and names", filtered=True
)
def search_concepts(
    container: Open,
    query_text: Annotated[Phrase, Query(description="In plain words, not in a query language.")],
    ontology: OntologyFilter = None,
    ontologies: Ontologies = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of results.")] = 10,
) -> ConceptHits:
    """If you search several ontologies, you get one list.

    If `fits` is not set, a result is only the nearest concept.
    """
    wanted = [*([] if ontology is None else [ontology]), *(ontologies or ())]
    return container.concepts.search(
        query_text, list_searched_ontologies(container.graph, wanted or None), limit
    )


@concepts.get("/concepts/paths", "read", "Find the shortest paths between two concepts", filtered=True)
def concept_paths(
    container: Open,
    *,
    start: Annotated[Phrase, Query(alias="from", description=PATH_END)],
    end: Annotated[Phrase, Query(alias="to", description=PATH_END)],
    ontology: OntologyFilter = None,
    hops: Steps = MAX_HOPS,
    limit: Annotated[int, Query(ge=1, le=MAX_PATHS, description="Maximum number of paths.")] = 5,
) -> ConceptPaths:
    """Connect two concepts using relationships, or sources that contain both (`appears with`)."""
    within = list_searched_ontologies(container.graph, None if ontology is None else [ontology])
    return container.concepts.find_paths(start, end, within, hops, limit)


@concepts.get("/concepts/{concept_id}", "read", "Get a concept with its evidence", filtered=True)
def get_concept(
    container: Open,
    concept_id: ConceptId,
    limit: Annotated[
        int, Query(ge=1, le=MAX_EVIDENCE, description="Maximum quotes, and related concepts.")
    ] = 20,
) -> ConceptDetails:
    """Get a concept, with quotes and related concepts. You can see where each quote is."""
    return container.concepts.get_details(concept_id, limit)


@concepts.get(
    "/concepts/{concept_id}/context", "read", "Get the passages in which a concept appears", filtered=True
)
def get_concept_context(
    container: Open,
    concept_id: ConceptId,
    window_size: Annotated[int, Query(ge=0, le=MAX_WINDOW, description="Paragraphs before and after.")] = 2,
    limit: Annotated[
        int, Query(ge=1, le=MAX_PASSAGES, description="Minimum number of sources that carry the concept.")
    ] = 10,
) -> ConceptContext:
    """Get the sources for a concept, with neighbours from the same document."""
    return container.concepts.get_context(concept_id, window_size, limit)


@concepts.get("/concepts/{concept_id}/related", "read", "List related concepts", filtered=True)
def get_related_concepts(
    container: Open, concept_id: ConceptId, hops: Steps = 1, limit: Related = 50
) -> RelatedConcepts:
    return container.concepts.find_related(concept_id, hops, limit)


@concepts.get("/ontologies/{ontology}/concepts", "read", "List the concepts of an ontology")
def list_concepts(
    container: Open, ontology: Ontology, offset: Offset = 0, limit: PageSize = 100
) -> ConceptList:
    return container.concepts.list_concepts(ontology, offset, limit)


MERGES = "/ontologies/{ontology}/concept-merges"


@concepts.get(MERGES, "read", "List merges of concepts")
def list_concept_merges(
    container: Open,
    ontology: Ontology,
    concept_id: Annotated[NodeId | None, Query(description="Only what became part of this concept.")] = None,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> ConceptMerges:
    return concept_merges.list_concept_merges(container.graph, ontology, offset, limit, concept_id=concept_id)


@concepts.post(MERGES + "/{merge_id}/undo", "write", "Undo a merge of concepts")
def undo_concept_merge(
    container: Open,
    ontology: Ontology,
    merge_id: Annotated[NodeId, Path(description="Id of a merge.")],
    body: Decision,
) -> ConceptMerge:
    """Separate merged concepts. 409: you have to undo the later merge in the error message first."""
    return concept_merges.unmerge_concepts(container.graph, ontology, merge_id, body.by)


# Constructive queries

constructive = Routes("search")


@constructive.post(
    "/queries/constructive", "read", "Build a subgraph using the steps of a query", filtered=True
)
def constructive_query(
    container: Open,
    query: Annotated[
        ConstructiveQuery,
        declare_example(
            ontology="notes",
            steps=[
                {"step": "seed", "by": "text", "value": "how are retries delayed", "limit": 5},
                {"step": "expand", "along": ["appears_in"], "direction": "in"},
                {"step": "expand", "along": ["related_to"], "types": ["requires"], "hops": 2},
                {"step": "rank", "by": "pagerank"},
                {"step": "limit", "nodes": 20},
            ],
        ),
    ],
) -> Subgraph:
    """Get nodes with paths, edges with quotes, and for each step the data that was dropped (`cut`)."""
    return container.constructive.query(limit_to_visible(container.graph, query))


# Link proposals

proposals = Routes("proposals")

ProposalId = Annotated[NodeId, Path(description="Id of a proposal, or at least 8 digits it begins with.")]
KindFilter = Annotated[ProposalKind | None, Query(description="Only links between these. Default: both.")]
StateFilter = Annotated[ProposalState | None, Query(description="Only these. Default: all.")]
Anew = Annotated[bool, Query(description="Check everything again, not only changes.")]


@proposals.get("/proposals", "read", "List proposed links", filtered=True)
def list_proposals(
    container: Open,
    ontology: OntologyFilter = None,
    kind: KindFilter = None,
    state: StateFilter = None,
    *,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> Proposals:
    return container.proposals.list_proposals(ontology, kind, state, offset, limit)


@proposals.get("/proposals/{proposal_id}", "read", "Get a proposed link", filtered=True)
def get_proposal(container: Open, proposal_id: ProposalId) -> Proposal:
    return stored_proposals.find_proposal(container.graph, proposal_id)


@proposals.post("/proposals/{proposal_id}/accept", "write", "Accept a proposed link", filtered=True)
def accept_proposal(container: Open, proposal_id: ProposalId, body: Decision) -> Proposal:
    """Create the link. You can then see it in related concepts, paths, and the source graph."""
    return stored_proposals.decide(container.graph, proposal_id, "accepted", body.by)


@proposals.post("/proposals/{proposal_id}/reject", "write", "Reject a proposed link", filtered=True)
def reject_proposal(container: Open, proposal_id: ProposalId, body: Decision) -> Proposal:
    """Delete the link, if it was accepted. It will not be proposed again."""
    return stored_proposals.decide(container.graph, proposal_id, "rejected", body.by)


@proposals.post("/proposals/{proposal_id}/undo", "write", "Undo a decision on a proposed link", filtered=True)
def undo_proposal(container: Open, proposal_id: ProposalId, body: Decision) -> Proposal:
    return stored_proposals.decide(container.graph, proposal_id, "open", body.by)


@proposals.post("/ontologies/{ontology}/proposals", "write", "Search for links to propose", status_code=202)
def search_proposals(container: Open, ontology: Ontology, *, anew: Anew = False) -> JobStarted:
    """Start a job, or use the job that exists. Workers will also search when something has changed."""
    return container.proposals.search(ontology, anew=anew)


# Relationships


TYPES = "/ontologies/{ontology}/relationship-types"
MergeId = Annotated[NodeId, Path(description="Id of a merge.")]


@concepts.post("/relationships/search", "read", "Search relationships by their text", filtered=True)
def search_relationships(
    container: Open,
    body: Annotated[RelationshipSearch, declare_example(query_text="what does a lease need", limit=5)],
) -> RelationshipHits:
    """This uses vector search only. If several sources state a relationship, you get it once."""
    return container.relationships.search(limit_to_visible(container.graph, body))


@concepts.get(TYPES, "read", "List the relationship types of an ontology")
def list_relationship_types(
    container: Open, ontology: Ontology, offset: Offset = 0, limit: PageSize = 100
) -> RelationshipTypes:
    return relations.list_types(container.graph, ontology, offset, limit)


@concepts.get(TYPES + "/proposals", "read", "Propose relationship types to merge")
def propose_relationship_types(
    container: Open,
    ontology: Ontology,
    min_similarity: Annotated[float, Query(ge=0, le=1)] = ALIKE,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of proposals.")] = 20,
) -> TypeProposals:
    """Find types that have similar names, with example relationships. This does not change them."""
    return relations.propose_type_merges(container.graph, ontology, min_similarity, limit)


@concepts.put(TYPES + "/stance", "write", "Set the stance of a relationship type")
def put_stance(
    container: Open,
    ontology: Ontology,
    body: Annotated[StanceChange, declare_example(type="casts doubt on", stance="contradicts")],
) -> RelationshipType:
    """Set if a type supports or contradicts. Neutral types are not used for grounding."""
    return relations.set_stance(container.graph, ontology, body)


@concepts.get(TYPES + "/merges", "read", "List merges of relationship types")
def list_type_merges(
    container: Open, ontology: Ontology, offset: Offset = 0, limit: PageSize = 100
) -> TypeMerges:
    return stored_relations.list_type_merges(container.graph, ontology, offset, limit)


@concepts.post(TYPES + "/merges", "write", "Merge relationship types")
def merge_relationship_types(
    container: Open,
    ontology: Ontology,
    body: Annotated[TypeMerging, declare_example(into="requires", merged=["needs"], by="Ada", dry_run=True)],
) -> TypeMerge:
    """Sources keep their own terms, so you can undo this. It will also be used for new sources."""
    return stored_relations.merge_types(container.graph, ontology, body)


@concepts.post(TYPES + "/merges/{merge_id}/undo", "write", "Undo a merge of relationship types")
def undo_type_merge(container: Open, ontology: Ontology, merge_id: MergeId, body: Decision) -> TypeMerge:
    return stored_relations.unmerge_types(container.graph, ontology, merge_id, body.by)
