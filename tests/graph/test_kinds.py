from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.filters import count_facets, filter_sources, list_matching_document_ids
from kg_api.graph.images import hold_blobs, list_sources_on_page
from kg_api.graph.library import list_documents
from kg_api.schemas.base import build_document_id
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.filters import DocumentFilter, FacetRequest
from kg_api.schemas.image_search import RelatedSearch
from kg_api.schemas.images import StoredImage
from kg_api.schemas.search import SourceHits
from kg_api.schemas.similarity import GraphRequest, SimilarSearch
from kg_api.search.related import RelatedService
from kg_api.search.similar import SimilarityService
from tests.conftest import Stored
from tests.graph.conftest import embedded, sharing
from tests.support.concepts import labelled, write
from tests.support.kg import Kg
from tests.support.records import record

MANY = 120
"""Number of items of the other kind. They are nearer to the question, and there are more than a retriever
can return."""
Kind = Literal["passage", "image"]


def pictured(made: DocumentRecord, *numbers: int) -> DocumentRecord:
    key = "0" * 64
    image = StoredImage(key, key, "image/png", 4, 3, 100)
    sources = [replace(each, image=image) if at in numbers else each for at, each in enumerate(made.sources)]
    return replace(made, sources=tuple(sources))


@pytest.fixture(params=["image", "passage"])
def rare(request: pytest.FixtureRequest) -> Kind:
    """Store many items of one kind and a single item of the other, and return the rare kind."""
    return request.param


def add_boats(graph: Graph, rare: Kind) -> None:
    hold_blobs(graph, ["0" * 64])
    texts = [f"The red boat of the harbour, number{n}." for n in range(MANY)]
    texts.append(
        "A boat is somewhere else, with many other words around it that say nothing of a port at all."
    )
    numbers = [MANY] if rare == "image" else range(MANY)
    store_document(graph, pictured(record("boats.md", texts), *numbers))


BOATS = {rare: partial(add_boats, rare=rare) for rare in get_args(Kind)}


@pytest.fixture
def harbour(stored: Stored, migrated_graph: Graph, rare: Kind) -> Kg:
    return stored.give(embedded, migrated_graph, BOATS[rare])


def found(kg: Kg, **options: Any) -> list[tuple[str, int]]:
    return [(each.kind, each.paragraph) for each in kg.find("red boat of the harbour", **options).sources]


@pytest.mark.parametrize("mode", ["vector", "text", "hybrid"])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("narrow", [{}, {"ontology": "notes"}, {"documents": ["boats.md"]}])
def test_the_rare_kind_is_found_in_every_lane(
    harbour: Kg, rare: Kind, mode: str, exact: bool, narrow: dict[str, Any]
) -> None:
    assert found(harbour, kinds=[rare], mode=mode, exact=exact, **narrow) == [(rare, MANY)]


UNPAGED = 1200
"""Number of passages without a page. They are nearer to the question, and there are more than the index
can return."""
QUESTION = "the red boat of the harbour"
DECK = ["The red boat one.", "The red boat two.", "A red boat figure.", "The red boat four.", "Harbour five."]
PAGES = [(1, 1), (2, 3), (3, 3), (4, 4), (5, 5)]


def paged(made: DocumentRecord, pages: list[tuple[int, int]] = PAGES) -> DocumentRecord:
    sources = [
        replace(each, page=page, last_page=last)
        for each, (page, last) in zip(made.sources, pages, strict=True)
    ]
    return replace(made, sources=tuple(sources))


def add_decks(graph: Graph) -> None:
    hold_blobs(graph, ["0" * 64])
    deck = pictured(paged(record("deck.pdf", DECK)), 2)
    store_document(graph, deck)
    store_document(graph, record("plain.md", ["The red boat of the plain harbour."]))
    store_document(graph, pictured(record("photo.png", ["A boat photo of the harbour."]), 0))
    write(graph, labelled(deck, 0, "boat"))
    write(graph, labelled(deck, 3, "boat"))


decks = sharing(add_decks)


def search(kg: Kg, *where: str, text: str = QUESTION, **asked: Any) -> SourceHits:
    return kg.find(text, where=list(where) or None, **asked)


def places(answer: Any) -> set[tuple[str, int]]:
    return {(each.document, each.paragraph) for each in answer.sources}


def deck(*paragraphs: int) -> set[tuple[str, int]]:
    return {("deck.pdf", each) for each in paragraphs}


PLAIN, PHOTO = {("plain.md", 0)}, {("photo.png", 0)}
CASES: dict[tuple[str, ...], set[tuple[str, int]]] = {
    ("page=3",): deck(1, 2),
    ("page>=3",): deck(1, 2, 3, 4),
    ("page<2",): deck(0),
    ("page in 1, 5",): deck(0, 4),
    ("page!=3",): deck(0, 3, 4) | PLAIN | PHOTO,
    ("page exists", "page<=2"): deck(0, 1),
    ("page does not exist",): PLAIN | PHOTO,
    ("page=99",): set(),
    ("kind=image",): deck(2) | PHOTO,
    ("kind=image", "page=3"): deck(2),
    ("kind=passage", "page in 3, 4"): deck(1, 3),
    ("kind!=image", "document=deck.pdf"): deck(0, 1, 3, 4),
    ("page=1 || document=plain.md || kind=image && page exists",): deck(0, 2) | PLAIN,
}


@pytest.mark.parametrize("mode", ["vector", "text", "hybrid"])
def test_searches_select_sources(decks: Kg, mode: str) -> None:
    for where, there in CASES.items():
        answer = search(decks, *where, mode=mode, ontology="notes")
        assert places(answer) == there, (mode, where)
        told = [each.effect for each in answer.degraded if "filter" in each.effect]
        assert told == ([] if there else ["no passage fits the conditions of the filter"])
    others: list[dict[str, Any]] = [{"exact": True}, {"documents": ["deck.pdf"]}, {"kinds": ["image"]}]
    for more in others:
        assert places(search(decks, "page=3", "kind=image", mode=mode, **more)) == deck(2)


def test_concepts_lead_only_to_sources_that_fit(decks: Kg) -> None:
    ways: list[dict[str, Any]] = [{"concepts": True}, {"graph": True}]
    for way in ways:
        answer = search(decks, "page=4", text="boat", **way)
        assert places(answer) == deck(3)
    assert [each.label for each in search(decks, "page=4", text="boat", concepts=True).sources[0].through]


def test_few_sources_that_fit_are_found_behind_many(decks: Kg) -> None:
    texts = [f"{QUESTION}, number{n}" for n in range(UNPAGED)]
    store_document(decks.graph, record("many.md", texts))
    decks.work()
    for mode in ("vector", "hybrid"):
        assert places(search(decks, "page>=4", mode=mode)) == deck(3, 4)
        assert places(search(decks, "page=5 || kind=image && page=3", mode=mode)) == deck(2, 4)
    assert len(search(decks, "page does not exist", mode="vector", limit=50).sources) == 50
    own = next(iter(search(decks, "document=plain.md").sources)).source_id
    similar = SimilarityService(decks.graph).find_similar(own, asked(SimilarSearch, "page>=4"))
    assert places(similar) == deck(3, 4)


def asked(kind: Any, *where: str, **more: Any) -> Any:
    return kind.model_validate({"where": list(where), **more})


def test_similar_and_related_sources_are_selected(decks: Kg) -> None:
    own = next(iter(search(decks, "document=plain.md").sources)).source_id
    similarity, related = SimilarityService(decks.graph), RelatedService(decks.graph)
    others: list[dict[str, Any]] = [{}, {"exact": True}, {"ontology": "notes"}]
    for more in others:
        assert places(similarity.find_similar(own, asked(SimilarSearch, "page=3", **more))) == deck(1, 2)
    assert places(similarity.find_similar(own, asked(SimilarSearch, "kind=image"))) == deck(2) | PHOTO
    assert places(related.find_related(own, asked(RelatedSearch, "page=3"))) == deck(2), "the other kind"
    passages = related.find_related(own, asked(RelatedSearch, "page=3", "kind=passage"))
    assert (places(passages), passages.kinds) == (deck(1), ["passage"])
    inside = related.find_related("deck.pdf#0", asked(RelatedSearch, "page>=3", kinds=["passage", "image"]))
    assert places(inside) == deck(1, 2, 3, 4)


def test_graph_contains_and_counts_matching_sources(decks: Kg) -> None:
    service = SimilarityService(decks.graph)
    cases = {"kind=image": deck(2) | PHOTO, "page=3": deck(1, 2), "page does not exist": PLAIN | PHOTO}
    for where, there in cases.items():
        whole = service.build_graph(asked(GraphRequest, where, ontology="notes"))
        assert ({(each.document, each.paragraph) for each in whole.nodes}, whole.total) == (there, 2), where
        one = service.build_graph(asked(GraphRequest, where, ontology="notes", max_nodes=1))
        assert (len(one.nodes), one.total) == (1, 2), where


def test_page_has_the_sources_that_touch_it(decks: Kg) -> None:
    whole = [each.strip() for each in DECK]
    for page, expected in {1: whole[:1], 2: whole[1:2], 3: whole[1:3], 9: []}.items():
        found = list_sources_on_page(decks.graph, build_document_id("notes", "deck.pdf"), page)
        assert [each.full_text.strip() for each in found] == expected


def test_documents_are_selected_by_their_sources(decks: Kg) -> None:
    cases = {
        ("page=3",): ["deck.pdf"],
        ("page>9",): [],
        ("page!=3",): ["photo.png", "plain.md"],
        ("page does not exist",): ["photo.png", "plain.md"],
        ("kind=image",): ["deck.pdf", "photo.png"],
        ("kind!=image",): ["plain.md"],
        ("kind=image", "page=4"): [],
        ("page=4 || document=plain.md && kind=passage",): ["deck.pdf", "plain.md"],
        ("kind=passage", "document!=deck.pdf"): ["plain.md"],
    }
    for where, names in cases.items():
        conditions = DocumentFilter.model_validate({"where": list(where)}).where
        page = list_documents(decks.graph, ontology="notes", offset=0, limit=10, where=conditions)
        assert [each.document for each in page.documents] == names, where
    filtered = filter_sources(DocumentFilter.model_validate({"where": ["kind=image"]}).where, lambda _: [])
    assert len(list_matching_document_ids(decks.graph, filtered, ["notes"], sources=1)) == 1
    (kinds,) = count_facets(decks.graph, FacetRequest.model_validate({"fields": ["kind"]})).facets
    assert {each.value: each.documents for each in kinds.values} == {"image": 2, "passage": 2}
