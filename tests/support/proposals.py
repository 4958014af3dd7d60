from typing import Any

from kg_api.client import KgClient
from kg_api.discovery.proposals import LinkProposal, ProposalService
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.proposals import Proposal
from kg_api.schemas.vocabulary import ProposalKind, ProposalState
from kg_api.settings import ProposalSettings
from tests.support.embedding import run_jobs
from tests.support.records import record

OWLS = (
    "Barn owls hunt at dusk over rough meadows, and they find voles in tall grass by hearing alone, "
    "for their ears stand at two heights."
)
EARS = (
    "By hearing alone barn owls find voles in tall grass at dusk; two ears at two heights tell them "
    "how far below the prey is."
)
TAXES = (
    "A tax return is due in May, and whoever hands it in late pays a fee for each month that has "
    "begun since that day."
)
RENT = (
    "Whoever rents a flat pays a deposit of three months, which the landlord gives back with interest when "
    "the keys are handed over at the end."
)
LEASE = (
    "The landlord gives back the deposit with interest, three months of what the flat costs, once the lease "
    "is over and the keys are handed over."
)
LICENCE = (
    "This document has been placed in the public domain and may be copied by anybody for whatever "
    "purpose without asking first."
)
ENOUGH = {
    "min_similarity": 0.5,
    "min_concept_similarity": 0.5,
    "min_contrast": 0.0,
    "min_concept_contrast": 0.0,
}


class Proposing:
    def __init__(self, graph: Graph, **settings: Any) -> None:
        self.graph = graph
        self.settings = ProposalSettings.model_validate({**ENOUGH, **settings})
        self.service = ProposalService(graph, self.settings)

    def add(self, name: str, *texts: str, ontology: str = "notes") -> list[str]:
        made = record(name, texts, ontology)
        store_document(self.graph, made)
        return [each.source_id for each in made.sources]

    def work(self) -> int:
        run_jobs(self.graph)
        self.service.start_pending_searches()
        return run_jobs(self.graph, further=[LinkProposal(self.graph, self.settings)])

    def all(self, state: ProposalState | None = None, kind: ProposalKind | None = None) -> list[Proposal]:
        return self.service.list_proposals(None, kind, state, 0, 100).proposals


GENEROUS: dict[str, Any] = {
    "min_similarity": 0.5,
    "min_concept_similarity": 0.0,
    "neighbours": 3,
    "min_contrast": 0,
    "min_concept_contrast": -1,
}


def look(graph: Graph, **settings: Any) -> None:
    run_jobs(graph, further=[LinkProposal(graph, ProposalSettings(**settings))])


def propose(kg: KgClient, graph: Graph) -> None:
    for name, text in (("owls.md", OWLS), ("ears.md", EARS), ("taxes.md", TAXES)):
        kg.ingest_text(text, ontology="notes", document=name)
    run_jobs(graph)
    kg.search_proposals("notes")
    look(graph, **GENEROUS)
