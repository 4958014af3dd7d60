from kg_api.graph.client import Graph
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concepts import Text
from kg_api.schemas.base import build_concept_id
from kg_api.schemas.concepts import ExtractedRelation, Extraction
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import extraction, found, labelled, quote

TEXTS = [
    "A generator expression is lazy. A list is not.",
    "All generator expressions are iterators.",
    "Each generator expression ends.",
]
ONE, MANY = "generator expression", "generator expressions"


def ids(*labels: str) -> tuple[str, str]:
    one, other = (build_concept_id("notes", label) for label in labels)
    return one, other


def both(texts: DocumentRecord) -> list[Extraction]:
    """Store a concept in two sources. The plural is in one of them and in another source."""
    first, second = (source.full_text for source in texts.sources[:2])
    return [
        extraction(
            texts,
            0,
            found(ONE, quote(first, ONE), confidence=0.5),
            found("list", quote(first, "list")),
            relations=(ExtractedRelation(ONE, "is not", "list"), ExtractedRelation("list", "contrasts", ONE)),
        ),
        extraction(
            texts,
            1,
            found(MANY, quote(second, MANY), description="Lazy.", search_terms=("genexp",)),
            found("iterators", quote(second, "iterators")),
            found(ONE, quote(second, MANY, score=0.9), confidence=0.4),
            relations=(
                ExtractedRelation(MANY, "are", "iterators"),
                ExtractedRelation(MANY, "are several of", ONE),
            ),
        ),
        labelled(texts, 2, ONE),
    ]


def always(_one: Text, _other: Text) -> bool:
    return True


def merged(graph: Graph, *labels: str) -> str | None:
    return merge_concepts(graph, ids(*labels), always)
