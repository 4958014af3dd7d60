"""Vectors of concepts in several spaces: switched with those of sources, and gone with their space."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.errors import Conflict
from kg_api.graph.schema import index_states
from kg_api.schemas.embedding import SpaceBuild
from tests.support.concept_work import Merging, counts, learn, vectors, work
from tests.support.cypher import rows
from tests.support.kg import Kg


def test_a_switch_takes_concepts_along(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=False))
    merging = Merging()
    work(kg, merging)
    assert merging.seen == [], "what is being built does not decide"
    kg.work()
    assert {len(each) for each in vectors(driver, "embedding_small").values()} == {64}
    assert len(vectors(driver)) == 5, "what answers stays"
    assert kg.switch.check("small").ok
    kg.switch.activate("small")
    assert kg.states()["small"] == "active"
    assert counts(kg) == (5, 5, 0, 0, 0)


def test_a_switch_waits_for_concepts(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=False))
    kg.work()
    rows(
        driver,
        "MATCH (c:Concept {label: 'paper nest'}) SET c.embedding_small = null, c.embedded_with_small = null",
    )
    found = kg.switch.check("small")
    assert [each.detail for each in found.findings if not each.ok] == ["notes: 1 concepts are not built yet"]
    with pytest.raises(Conflict, match="1 concepts"):
        kg.switch.activate("small")


def test_a_space_that_is_dropped_takes_its_vectors_of_concepts(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=True))
    kg.work()
    assert "concept_embedding_small" in index_states(kg.graph)
    kg.drop.drop("default", "notes")
    kg.work()
    (row,) = rows(driver, "MATCH (c:Concept {label: 'paper nest'}) RETURN properties(c) AS map")
    assert {name for name in row["map"] if name.startswith("embed")} == {
        "embedding_small",
        "embedded_with_small",
        "embedded_at_small",
    }
    kg.switch.build("default", SpaceBuild(activate=True))
    kg.work()
    kg.drop.drop("small")
    rows(driver, "MATCH (e:EmbeddingSpace {slug: 'small'}) SET e.dropping = datetime() - duration('PT9S')")
    rows(driver, "MATCH (j:Job {state: 'queued'}) SET j.run_after = datetime()")
    kg.work()
    assert "concept_embedding_small" not in index_states(kg.graph)
    assert vectors(driver, "embedding_small") == {}
    assert len(vectors(driver)) == 5


def test_another_chunking_leaves_concepts_alone(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    before = rows(driver, "MATCH (c:Concept) RETURN c.label AS l, c.embedded_at AS at ORDER BY l")
    config = kg.configure.show("notes").config.model_copy(update={"strategy": "sentence", "chunk_size": None})
    kg.configure.set("notes", config, dry_run=False)
    kg.work()
    assert rows(driver, "MATCH (c:Concept) RETURN c.label AS l, c.embedded_at AS at ORDER BY l") == before
