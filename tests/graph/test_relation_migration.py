"""Relationships that an earlier version wrote get their ontology, type and text."""

from __future__ import annotations

import neo4j

from kg_api.graph.migrations import migrate
from tests.graph.test_edge_embedding import counts, relate, total, types
from tests.support.cypher import rows
from tests.support.kg import Kg

NEW = ["ontology", "stated_type", "type_id", "type_key", "statement", "quote", "start", "end", "text_hash"]


def test_those_whose_source_has_gone_do_not_end_it(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    rows(
        driver,
        "MATCH (a)-[r:RELATED_TO]->(b) SET r += {ontology: null, type_id: null} WITH a, b "
        "UNWIND range(1, 1000) AS at "
        "CREATE (a)-[:RELATED_TO {relation_id: '!' + at, source_id: 'gone', type: 'is near'}]->(b)",
    )
    rows(driver, "MATCH (m:Migration {name: 'schema/104_relation_texts'}) DELETE m")
    migrate(kg.graph)
    told = "MATCH ()-[r:RELATED_TO]->() WHERE r.source_id <> 'gone' RETURN r.ontology AS ontology"
    assert rows(driver, told) == [{"ontology": "notes"}]


def test_what_an_earlier_run_left_is_done(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    rows(driver, "MATCH ()-[r:RELATED_TO]->() SET r.ontology = null, r.type_id = null")
    rows(driver, "MATCH (m:Migration {name: 'schema/107_relation_texts_left'}) DELETE m")
    migrate(kg.graph)
    assert rows(driver, "MATCH ()-[r:RELATED_TO]->() RETURN r.ontology AS ontology") == [
        {"ontology": "notes"}
    ]


def test_they_are_as_if_they_were_written_now(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near", "is far from")
    relate(kg.graph, "is near", paragraph=1, proved=False)
    told = (
        "MATCH (a)-[r:RELATED_TO]->(b) RETURN a.label AS a, b.label AS b, properties(r) AS map "
        "ORDER BY r.relation_id"
    )
    before = rows(driver, told)
    rows(driver, "MATCH ()-[r:RELATED_TO]->() " + "".join(f"SET r.{name} = null " for name in NEW))
    rows(driver, "MATCH (t:RelationType) DETACH DELETE t")
    rows(driver, "MATCH (m:Migration {name: 'schema/104_relation_texts'}) DELETE m")
    assert counts(kg) == total(0, embedded=0)
    assert migrate(kg.graph) == ["schema/104_relation_texts"]
    assert rows(driver, told) == before
    assert types(driver) == {"is near": False, "is far from": False}
    assert counts(kg) == total(3, embedded=0)
