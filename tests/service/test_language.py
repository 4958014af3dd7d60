import html
from collections.abc import Sequence

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.fulltext import choose_language
from tests.service.asking import embedded, ingest
from tests.support.cypher import rows
from tests.support.running import wait_until


def expect_found(kg: KgClient, query: str, *texts: str, ontology: str | Sequence[str] = "a") -> None:
    """Wait until these texts are found, because the service caches ontologies for a second."""

    def found() -> list[str]:
        return [
            hit.full_text.strip() for hit in kg.search_sources(query, mode="text", ontology=ontology).sources
        ]

    wait_until(lambda: found() == [*texts], 5, lambda: str(found()))


def test_chosen_language_finds_inflections_in_short_text(http: httpx.Client, kg: KgClient) -> None:
    ingest(http, "Häuser streichen", ontology="a")
    assert kg.language("a").language == "auto"
    expect_found(kg, "Haus")
    chosen = kg.set_language("a", "de")
    assert (chosen.language, chosen.complete, chosen.indexed) == ("de", True, 1)
    expect_found(kg, "Haus", "Häuser streichen")
    ingest(http, "Bäume schneiden", ontology="a", document="later.txt")
    expect_found(kg, "Baum", "Bäume schneiden")
    assert kg.set_language("a", "de").indexed == 0, "nothing is left to do"
    assert kg.set_language("a", "auto").complete
    expect_found(kg, "Haus")


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_interrupted_language_change_resumes(
    http: httpx.Client, kg: KgClient, graph: Graph, driver: neo4j.Driver, seconds: float
) -> None:
    text = "\n\n".join(f"Zwiebeln Nummer {at}" for at in range(3))
    for at in range(2):
        ingest(http, text, ontology="a", document=f"{at}.txt")
    begun = choose_language(graph, "a", "de", seconds=0)
    assert (begun.complete, begun.indexed) == (False, 0)
    assert not kg.language("a").complete
    went = choose_language(graph, "a", "de", seconds=seconds)
    assert went.complete == (seconds > 0)
    stems = rows(driver, "MATCH (s:Source) RETURN any(each IN s.scope WHERE each CONTAINS 'kgs') AS stemmed")
    assert {row["stemmed"] for row in stems} == {seconds > 0}


def test_documents_in_unsupported_languages_are_counted(
    http: httpx.Client, graph: Graph, driver: neo4j.Driver
) -> None:
    for name in ("miete", "kaution"):
        embedded(graph, http, f"Die {name} ist von dem Mieter an den Vermieter zu zahlen.", document=name)
    ingest(http, "The rent is paid by the tenant at the end of the month.", document="rent")
    (listed,) = http.get("/ontologies").json()["ontologies"]
    assert (listed["languages"], listed["notes"]) == ({"english": 1, "german": 2}, [])
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.model = 'bge-small-en-v1.5'")
    (listed,) = http.get("/ontologies").json()["ontologies"]
    (note,) = listed["notes"]
    assert note.startswith("2 of 3 documents are German; bge-small-en-v1.5 supports English.")
    assert note in http.get("/ontologies/notes/embedding-config").json()["notes"]
    assert note in html.unescape(http.get("/ui/ontologies/notes").text)
    ingest(http, "The rent of the flat is due in May.", document="kaution")
    (listed,) = http.get("/ontologies").json()["ontologies"]
    assert listed["languages"] == {"english": 2, "german": 1}
