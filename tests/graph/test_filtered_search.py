import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_documents
from kg_api.schemas.documents import DocumentRecord
from tests.graph.conftest import add_texts, sharing
from tests.support.kg import Kg
from tests.support.records import record

DOCUMENTS = 600
"""Number of documents. This is more than you can name in a full-text query."""


def numbered(number: int) -> DocumentRecord:
    text = f"the keeper counts ships word{number % 7} number{number}"
    told = {"number": number, "parity": "even" if number % 2 == 0 else "odd"}
    return record(f"{number:03}.md", [text], ontology="harbour", metadata=told)


def add_harbour(graph: Graph) -> None:
    store_documents(graph, [numbered(n) for n in range(DOCUMENTS)])


harbour = sharing(add_texts, add_harbour)


@pytest.mark.parametrize("mode", ["vector", "text", "hybrid"])
def test_no_fewer_hits_than_there_are(harbour: Kg, mode: str) -> None:
    for least, there in ((0, 600), (100, 500), (570, 30), (597, 3), (600, 0)):
        found = harbour.find("keeper ships word3", mode=mode, limit=40, where=[f"number>={least}"])
        assert len(found.sources) == min(40, there), (mode, least)
        assert all(int(hit.document[:3]) >= least for hit in found.sources)
        assert [each.effect for each in found.degraded if "filter" in each.effect] == (
            [] if there else ["no document fits the conditions of the filter"]
        )


def test_keyword_search_finds_low_ranked_filtered_documents(harbour: Kg) -> None:
    found = harbour.find("number1 ships", mode="text", limit=1, where=["number>100", "parity=even"])
    assert len(found.sources) == 1
    exact = harbour.find("keeper ships word3", mode="vector", limit=20, where=["parity=odd"], exact=True)
    near = harbour.find("keeper ships word3", mode="vector", limit=20, where=["parity=odd"])
    assert [hit.similarity for hit in near.sources] == pytest.approx(
        [hit.similarity for hit in exact.sources]
    )
