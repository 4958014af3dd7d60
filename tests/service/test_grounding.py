import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.schemas.concepts import Grounding
from tests.service.conftest import sharing
from tests.support.concepts import state
from tests.support.cypher import rows
from tests.support.embedding import run_jobs

TEXTS = {
    "a.md": "The first trial supports the hypothesis.",
    "b.md": "The second trial confirms the hypothesis, and the second trial supports the hypothesis.",
    "c.md": "The third trial refutes the hypothesis.",
    "d.md": "The fourth trial mentions the hypothesis, which casts doubt on the theory.",
    "e.md": "The theory is supported by the first trial.",
}


def store_told(graph: Graph, url: str) -> None:
    with KgClient(url) as kg:
        for name, text in TEXTS.items():
            kg.ingest_text(text, ontology="notes", document=name)
        run_jobs(graph)
        for name, *relations in (
            ("a.md", ["first trial", "supports", "hypothesis"]),
            ("b.md", ["second trial", "confirms", "hypothesis"], ["second trial", "supports", "hypothesis"]),
            ("c.md", ["third trial", "Refutes", "hypothesis"]),
            ("d.md", ["fourth trial", "mentions", "hypothesis"], ["hypothesis", "casts doubt on", "theory"]),
            ("e.md", ["theory", "is supported by", "first trial"]),
        ):
            state(graph, name, relations=relations)


shared = sharing(store_told)


def grounding(kg: KgClient, label: str) -> Grounding | None:
    (found,) = [each for each in kg.search_concepts(label, ontology="notes").concepts if each.label == label]
    return kg.concept(found.concept_id).grounding


def test_each_source_counts_once_per_side_with_quotes(told: KgClient, driver: neo4j.Driver) -> None:
    unsure = (
        "MATCH ()-[r:RELATED_TO {statement: 'second trial supports hypothesis'}]->() SET r.confidence = 0.5"
    )
    rows(driver, unsure)
    found = grounding(told, "hypothesis")
    assert found is not None
    assert (found.supporting, found.contradicting) == (2, 1)
    assert found.strength == pytest.approx(3 / 5), "the mean of Beta(3, 2)"
    assert found.belief + found.disbelief + found.uncertainty == pytest.approx(1)
    assert (found.belief, found.disbelief) == (pytest.approx(2 / 5), pytest.approx(1 / 5))
    said = [each.confidence for each in found.supporting_evidence]
    assert said == [1, 1, 0.5], "what a source says twice is shown, and counts once"
    (against,) = found.contradicting_evidence
    assert (against.type, against.statement) == ("Refutes", "third trial Refutes hypothesis")
    assert against.quote == TEXTS["c.md"][against.start : against.end] == TEXTS["c.md"]
    assert against.source.document == "c.md"
    assert found.more_evidence == 0
    assert grounding(told, "first trial") is None, "its statements concern only the other concept"


def test_stance_of_a_type_is_configurable(told: KgClient) -> None:
    stances = {each.name: each.stance for each in told.relationship_types("notes").types}
    assert (stances["casts doubt on"], stances["Refutes"]) == ("neutral", "contradicts")
    changed = told.set_relationship_stance("notes", "Casts Doubt On", "contradicts")
    assert (changed.name, changed.stance) == ("casts doubt on", "contradicts")
    found = grounding(told, "theory")
    assert found is not None
    assert (found.supporting, found.contradicting, found.strength) == (1, 1, 0.5)
    told.set_relationship_stance("notes", "refutes", "neutral")
    told.set_relationship_stance("notes", "casts doubt on", None)
    found = grounding(told, "hypothesis")
    assert found is not None
    assert (found.supporting, found.contradicting) == (2, 0)
