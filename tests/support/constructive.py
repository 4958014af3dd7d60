from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from kg_api.concepts.relations import RelationshipSearcher
from kg_api.concepts.search import ConceptService
from kg_api.discovery.constructive import ConstructiveService
from kg_api.schemas.constructive import AnyNode, ConstructiveQuery, Subgraph, SubgraphConcept, SubgraphSource
from kg_api.search.service import SearchService
from tests.support.kg import Kg

ALL = ["related_to", "appears_in", "part_of", "next_to"]
Step = dict[str, Any]


@contextmanager
def constructing(kg: Kg) -> Generator[ConstructiveService]:
    search = SearchService(kg.graph, kg.spaces)
    concepts, relationships = ConceptService(kg.graph, kg.spaces), RelationshipSearcher(kg.graph, kg.spaces)
    yield ConstructiveService(kg.graph, kg.spaces, search, concepts, relationships)
    search.close()


def ask(service: ConstructiveService, *steps: Step, **query: Any) -> Subgraph:
    return service.query(ConstructiveQuery.model_validate({"steps": list(steps), **query}))


def seed(value: str, by: str = "concept", **more: Any) -> Step:
    return {"step": "seed", "by": by, "value": value, **more}


def expand(*along: str, **more: Any) -> Step:
    return {"step": "expand", "along": list(along), **more}


def name(node: AnyNode) -> str:
    if isinstance(node, SubgraphConcept):
        return node.concept.label
    if isinstance(node, SubgraphSource):
        return f"{node.source.document}#{node.source.paragraph}"
    return node.document.document


def names(found: Subgraph) -> list[str]:
    return [name(node) for node in found.nodes]


def triples(found: Subgraph) -> set[tuple[str, str, str]]:
    called = {node.id: name(node) for node in found.nodes}
    return {(called[each.subject], each.type, called[each.object]) for each in found.edges}


def cuts(found: Subgraph) -> list[tuple[int, str, int | None]]:
    return [(step.number, cut.by, cut.left_out) for step in found.steps for cut in step.cut]
