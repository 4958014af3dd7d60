from typing import Any

from kg_api.client import KgClient
from kg_api.discovery.communities import CommunityDetection, CommunityService
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.communities import Communities
from kg_api.schemas.documents import DocumentRecord
from kg_api.settings import CommunitySettings
from tests.support.concepts import labelled, state, write
from tests.support.embedding import run_jobs
from tests.support.records import record

HARBOUR = ("harbour", "lighthouse", "pilot boat", "tide")
BAKERY = ("oven", "sourdough", "rye flour", "crust", "yeast")
TOPICS = {"harbour.md": HARBOUR, "bakery.md": BAKERY}
HUB = "town"


def passages(labels: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the concepts for each passage: the hub, and all others but one."""
    return [tuple(each for each in (*labels, HUB) if each != left) for left in labels] * 2


def topic(name: str, labels: tuple[str, ...], ontology: str = "notes") -> DocumentRecord:
    texts = [f"{at}: {', '.join(each)}." for at, each in enumerate(passages(labels))]
    return record(name, texts, ontology)


class Detecting:
    def __init__(self, graph: Graph, **settings: Any) -> None:
        self.graph = graph
        self.settings = CommunitySettings.model_validate(settings)
        self.service = CommunityService(graph, self.settings)

    def add(self, name: str, labels: tuple[str, ...], ontology: str = "notes") -> DocumentRecord:
        made = topic(name, labels, ontology)
        store_document(self.graph, made)
        write(
            self.graph,
            *(labelled(made, at, *each) for at, each in enumerate(passages(labels))),
            ontology=ontology,
        )
        return made

    def add_topics(self) -> list[DocumentRecord]:
        return [self.add(name, labels) for name, labels in TOPICS.items()]

    def work(self) -> int:
        run_jobs(self.graph)
        self.service.start_pending_detections()
        return run_jobs(self.graph, further=[CommunityDetection(self.graph, self.settings)])

    def page(self, ontology: str = "notes") -> Communities:
        return self.service.list_communities(ontology, offset=0, limit=100)

    def labels(self) -> list[set[str]]:
        return [set(each.labels) for each in self.page().communities]


def detect(kg: KgClient, graph: Graph) -> None:
    """Store short documents about two topics with their concepts, and detect communities."""
    several = [
        (f"{name}/{at}.md", carried)
        for name, labels in TOPICS.items()
        for at, carried in enumerate(passages(labels))
    ]
    for name, carried in several:
        kg.ingest_text(", ".join(carried), ontology="notes", document=name)
        state(graph, name, carried)
    run_jobs(graph)
    kg.detect_communities("notes")
    run_jobs(graph, further=[CommunityDetection(graph, CommunitySettings())])
