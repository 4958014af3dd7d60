import time
from dataclasses import replace
from typing import NoReturn

import neo4j
import pytest

from kg_api.concepts import network
from kg_api.concepts.search import ConceptService, add_match_kinds, find_concepts
from kg_api.errors import EmbeddingUnavailable, NotFound, Unavailable
from kg_api.graph import concepts
from kg_api.graph.search import Meaning
from kg_api.graph.spaces import find_space
from kg_api.schemas.base import build_concept_id
from kg_api.schemas.concepts import APPEARS_WITH, ConceptHit, ConceptPaths
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.spaces import FIRST_SLUG, SimilarityCalibration
from kg_api.spaces import open_spaces as opening
from kg_api.spaces.open_spaces import LABELS_NEEDED
from kg_api.spaces.registry import SpaceRegistry
from tests.support.concept_graph import LIVES, embed_concepts, store_concepts
from tests.support.concepts import found, quote
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.kg import Kg
from tests.support.records import record
from tests.support.running import wait_until


@pytest.fixture
def service(kg: Kg) -> ConceptService:
    return ConceptService(kg.graph, kg.spaces)


def labels(service: ConceptService, text: str, limit: int = 3) -> list[str]:
    return [each.label for each in service.search(text, None, limit).concepts]


def test_concept_is_found_by_name_keywords_and_vector(service: ConceptService, ids: dict[str, str]) -> None:
    assert labels(service, "ada lovelace!")[0] == "Ada Lovelace"
    assert labels(service, "Babbage machine")[0] == "Analytical Engine", "by another name"
    assert labels(service, "a computer that is mechanical")[0] == "Analytical Engine", "by its description"
    answer = service.search("the Thames", ["notes"], 10)
    assert answer.degraded == []
    best = answer.concepts[0]
    assert (best.concept_id, best.ontology, best.sources, best.space) == (
        ids["Thames"],
        "notes",
        1,
        "default",
    )
    assert best.similarity is not None
    assert 0.2 < best.similarity <= 1
    assert [each.score for each in answer.concepts] == sorted(
        (each.score for each in answer.concepts), reverse=True
    )
    assert "embedding" not in best.model_dump_json()


def test_search_covers_only_requested_ontologies(
    kg: Kg, service: ConceptService, ids: dict[str, str]
) -> None:
    store_concepts(kg.graph, record("x", ["Ada Lovelace again"], "other"), {0: ["Ada Lovelace"]})
    assert [each.ontology for each in service.search("Ada Lovelace", None, 2).concepts] in (
        ["notes", "other"],
        ["other", "notes"],
    )
    only = service.search("Ada Lovelace", ["other"], 5)
    assert [each.ontology for each in only.concepts] == ["other"]
    (told,) = only.degraded
    assert told.effect.startswith("other: concepts are still to be embedded"), (
        "it has no vector yet, and that is said once"
    )
    with pytest.raises(NotFound, match="'nowhere'"):
        service.search("Ada Lovelace", ["nowhere"], 5)
    assert ids


def test_search_reports_ontologies_without_extraction(kg: Kg) -> None:
    answer = ConceptService(kg.graph, kg.spaces).search("anything", None, 5)
    assert [each.part for each in answer.degraded] == ["concepts"]
    assert "have no concepts yet" in answer.degraded[0].effect


def test_each_found_concept_has_its_relevance(service: ConceptService, ids: dict[str, str]) -> None:
    def fits(text: str) -> dict[str, str | None]:
        return {each.label: each.fits for each in service.search(text, None, 50).concepts}

    assert fits("thames")["Thames"] == "name"
    assert fits("babbage MACHINE")["Analytical Engine"] == "name"
    assert fits("the lovelace thing")["Ada Lovelace"] == "words"
    assert fits("mechanical")["Herons"] is None
    unrelated = fits("qwertyzxcv")
    assert unrelated.keys() == ids.keys(), "a search has no floor"
    assert set(unrelated.values()) == {None}


def test_search_without_model_uses_keywords_and_reports_it(kg: Kg, ids: dict[str, str]) -> None:
    def no_model(_: object) -> NoReturn:
        raise EmbeddingUnavailable("no model")

    spaces = SpaceRegistry(kg.graph, no_model)
    service = ConceptService(kg.graph, spaces)
    answer = service.search("Herons", None, 5)
    nothing = service.search("the of", None, 5)
    spaces.close()
    assert [(each.concept_id, each.similarity) for each in answer.concepts] == [(ids["Herons"], None)]
    assert [each.part for each in answer.degraded] == ["embedding"]
    assert nothing.concepts == [], "the index ignores these words"


def test_search_skips_populating_index_and_reports_it(kg: Kg, ids: dict[str, str]) -> None:
    space = kg.spaces.get().space
    meanings = [Meaning(space, small_embedder().embed_query("Herons"), ["notes"])]

    def found(*waiting: str) -> tuple[list[str], list[str]]:
        states = dict.fromkeys(waiting, "populating, 40 % populated")
        answer = find_concepts(kg.graph, "Herons", meanings, ["notes"], 1, populating=states)
        return [each.concept_id for each in answer.concepts], [each.part for each in answer.degraded]

    assert found("concept_words") == ([ids["Herons"]], ["text_index"])
    assert found("concept_embedding") == ([ids["Herons"]], ["vector_index"])
    with pytest.raises(Unavailable, match="Try again"):
        found("concept_words", "concept_embedding")


def test_details_show_quotes_with_positions_and_related_concepts(
    service: ConceptService, ids: dict[str, str]
) -> None:
    told = service.get_details(ids["Analytical Engine"])
    assert (told.label, told.description, told.sources) == ("Analytical Engine", "a mechanical computer", 2)
    assert (len(told.evidence), told.more_evidence) == (2, 0)
    whole = "".join(f"{each}\n\n" for each in LIVES)
    assert [whole[each.start : each.end] for each in told.evidence] == ["Analytical Engine"] * 2
    assert [each.source.paragraph for each in told.evidence] == [0, 2]
    relations = {(each.concept.label, each.type, each.outgoing) for each in told.related}
    assert relations == {
        ("Ada Lovelace", "wrote about", False),
        ("Charles Babbage", "designed", False),
        ("London", "designed in", True),
    }
    assert service.get_details(ids["Analytical Engine"], 1).more_evidence == 1
    assert service.get_details(ids["Analytical Engine"], 1).more_related == 2
    with pytest.raises(NotFound, match="kg concepts search"):
        service.get_details("none")


OWLS = ["Owls hoot.", "Owls nest.", "Owls hunt."]


@pytest.fixture
def owls(kg: Kg) -> list[DocumentRecord]:
    """Store three documents: an unverified concept with high confidence, and verified ones with less."""
    texts = [record(f"{at}.md", [text], "owls") for at, text in enumerate(OWLS)]
    quoted = [quote(text, "Owls", score=score) for text, score in zip(OWLS[1:], (0.7, 0.9), strict=True)]
    proven = [found("Owls", each, confidence=each.score) for each in quoted]
    claims = found("Owls", confidence=1.0, unverified=("owls say", "owls do"))
    for made, one in zip(texts, (claims, *proven), strict=True):
        store_concepts(kg.graph, made, {0: [one]})
    return texts


def test_best_proven_passages_and_quotes_of_a_concept_come_first(
    service: ConceptService, owls: list[DocumentRecord]
) -> None:
    own = build_concept_id("owls", "Owls")
    sources = [each.sources[0].source_id for each in reversed(owls)]
    for limit in (3, 2):
        passages = service.get_context(own, 0, limit).passages
        assert [each.source_id for each in passages] == sources[:limit], limit
    for limit in (2, 1):
        evidence = service.get_details(own, limit).evidence
        assert [each.source.source_id for each in evidence] == sources[:limit], limit
    told = service.get_details(own, 1)
    assert ([each.quote for each in told.unverified], told.more_unverified) == (["owls do"], 1)


def test_related_concepts_come_hop_by_hop_each_once(
    service: ConceptService, ids: dict[str, str], driver: neo4j.Driver
) -> None:
    own = ids["Ada Lovelace"]
    one = service.find_related(own, 1, 10)
    assert [(each.concept.label, each.hops, each.via) for each in one.related] == [
        ("Analytical Engine", 1, None)
    ]
    three = service.find_related(own, 3, 10)
    far = {each.concept.label: (each.hops, each.via) for each in three.related}
    assert far == {
        "Analytical Engine": (1, None),
        "Charles Babbage": (2, ids["Analytical Engine"]),
        "London": (2, ids["Analytical Engine"]),
        "Thames": (3, ids["London"]),
    }
    assert len(service.find_related(own, 4, 2).related) == 2
    assert service.find_related(own, 2, 2).more_related == 1
    both = "MATCH (a:Concept {label: 'Charles Babbage'}), (b:Concept {label: 'Thames'}) "
    rows(driver, both + "CREATE (a)-[:RELATED_TO {type: 'saw', confidence: 0.1, source_id: 'x'}]->(b)")
    assert len(service.find_related(own, 3, 10).related) == len(far)


def test_statements_of_several_sources_are_summed_up(kg: Kg, service: ConceptService) -> None:
    triple = ("Ada Lovelace", "wrote about", "Analytical Engine")
    again = (triple[0], "Wrote About", triple[2])
    found = store_concepts(
        kg.graph,
        record(
            "twice", ["Ada Lovelace, Analytical Engine, Babbage", "Analytical Engine, Ada Lovelace, Herschel"]
        ),
        {0: [triple[0], triple[2], "Babbage"], 1: [triple[0], triple[2], "Herschel"]},
        {0: [triple, (triple[0], "admired", "Babbage")], 1: [again, (triple[0], "met", "Herschel")]},
    )
    one, *others = service.find_related(found[triple[0]], 1, 10).related
    assert (one.type.lower(), len(one.sources)) == ("wrote about", 2), "most sources first"
    assert {each.type for each in others} == {"admired", "met"}


def test_concepts_without_relationships_show_shared_sources(
    service: ConceptService, ids: dict[str, str]
) -> None:
    found = service.find_related(ids["Herons"], 2, 10)
    assert [(each.concept.label, each.type) for each in found.related] == [("water", APPEARS_WITH)]
    assert "no text states" in found.degraded[0].effect


def test_concepts_are_listed_by_number_of_sources(service: ConceptService, ids: dict[str, str]) -> None:
    page = service.list_concepts("notes", 0, 2)
    assert [(each.label, each.sources) for each in page.concepts] == [("Analytical Engine", 2), ("London", 2)]
    assert page.total == len(ids)
    assert len(service.list_concepts("notes", 2, 100).concepts) == len(ids) - 2
    with pytest.raises(NotFound):
        service.list_concepts("none", 0, 10)


def told(found: ConceptPaths) -> list[list[str]]:
    return [[each.label for each in path.concepts] for path in found.paths]


def test_shortest_path_keeps_stated_directions(service: ConceptService, ids: dict[str, str]) -> None:
    found = service.find_paths(ids["Ada Lovelace"], "thames", None, 4, 5)
    assert told(found) == [["Ada Lovelace", "Analytical Engine", "London", "Thames"]]
    assert (found.start.label, found.end.label, found.degraded) == ("Ada Lovelace", "Thames", [])
    steps = [(each.subject, each.type, each.object, len(each.sources)) for each in found.paths[0].steps]
    assert steps == [
        (ids["Ada Lovelace"], "wrote about", ids["Analytical Engine"], 1),
        (ids["Analytical Engine"], "designed in", ids["London"], 1),
        (ids["London"], "lies on", ids["Thames"], 1),
    ]
    assert service.find_paths(ids["Ada Lovelace"], ids["Thames"], None, 2, 5).paths == []
    same = service.find_paths("Thames", ids["Thames"], None, 1, 5)
    assert (same.paths, [each.effect for each in same.degraded]) == (
        [],
        ["both ends are the same concept, 'Thames'. Choose two different concepts"],
    )
    backwards = service.find_paths("Thames", "London", None, 1, 5).paths[0].steps[0]
    assert (backwards.subject, backwards.object) == (ids["London"], ids["Thames"])


def test_most_supported_of_equal_paths_comes_first(kg: Kg, service: ConceptService) -> None:
    ways = (
        [("start", "to", "rare"), ("rare", "to", "end")],
        [("start", "to", "usual"), ("usual", "to", "end")],
    )
    for name, steps in zip("abc", (*ways, ways[1]), strict=True):
        labels = list(dict.fromkeys(label for one, _, other in steps for label in (one, other)))
        store_concepts(kg.graph, record(name, [" ".join(labels)]), {0: labels}, {0: steps})
    found = service.find_paths("start", "end", None, 2, 5)
    assert told(found) == [["start", "usual", "end"], ["start", "rare", "end"]]
    assert len(service.find_paths("start", "end", None, 2, 1).paths) == 1


def test_path_uses_shared_sources_without_relationships(
    kg: Kg, service: ConceptService, ids: dict[str, str]
) -> None:
    store_concepts(kg.graph, record("bank", ["Herons by the Thames"]), {0: ["Herons", "Thames"]})
    found = service.find_paths("water", "London", None, 4, 5)
    assert told(found) == [["water", "Herons", "Thames", "London"]]
    assert [each.type for each in found.paths[0].steps] == [APPEARS_WITH, APPEARS_WITH, "lies on"]
    assert all(each.sources for each in found.paths[0].steps)
    assert ids


def test_hub_is_bounded_and_reported(
    kg: Kg, service: ConceptService, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = store_concepts(kg.graph, record("h", ["the hub and the end"]), {0: ["hub", "end"]})
    rows(
        driver,
        "MATCH (h:Concept {concept_id: $hub}), (e:Concept {concept_id: $end}) "
        "UNWIND range(1, 600) AS n "
        "CREATE (c:Concept {concept_id: 'c' + n, ontology: 'notes', label: 'l' + n, description: ''}) "
        "SET c.search_terms = [] "
        "CREATE (h)-[:RELATED_TO {relation_id: 'r' + n, type: 't', confidence: 0.5, source_id: 's'}]->(c) "
        "WITH e, c WHERE c.label ENDS WITH '99' "
        "CREATE (c)-[:RELATED_TO {relation_id: 'e' + c.label, type: 't', source_id: 's'}]->(e)",
        hub=found["hub"],
        end=found["end"],
    )
    monkeypatch.setattr(network, "FAN_OUT", 5)
    paths = service.find_paths("hub", "end", None, 2, 20)
    assert 1 <= len(paths.paths) <= 6
    assert all(len(each.steps) == 2 for each in paths.paths), "seen from the end the hub is there"
    assert any("kg followed the 5 with most sources" in each.effect for each in paths.degraded)
    monkeypatch.setattr(network, "SECONDS", -1.0)
    late = service.find_paths("hub", "end", None, 2, 20)
    assert (late.paths, "was ended" in late.degraded[-1].effect) == ([], True)
    monkeypatch.setattr(concepts, "SCANNED", 50)
    assert len(service.find_related(found["hub"], 1, 200).related) <= 50


def search(kg: Kg) -> None:
    kg.spaces.get_open(find_space(kg.graph, FIRST_SLUG))._labels_looked_at = float("-inf")
    ConceptService(kg.graph, kg.spaces).search("anything", None, 1)


def test_concept_similarity_is_calibrated_daily_after_enough_concepts(
    kg: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[int]()
    real = opening.calibrate_labels
    monkeypatch.setattr(opening, "calibrate_labels", lambda *given: (calls.append(1), real(*given))[1])
    names = [f"concept{n} of{n % 7} words{n}" for n in range(LABELS_NEEDED)]
    store_concepts(kg.graph, record("few.md", ["Few."]), {0: names[:-1]})
    embed_concepts(driver)
    search(kg)
    store_concepts(kg.graph, record("more.md", ["More."]), {0: names[-1:]})
    embed_concepts(driver)
    search(kg)
    wait_until(lambda: find_space(kg.graph, FIRST_SLUG).labels is not None, 10)
    measured = find_space(kg.graph, FIRST_SLUG).labels
    assert measured is not None
    assert (len(calls), measured.related > measured.unrelated) == (1, True)
    search(kg)
    time.sleep(0.3)
    assert len(calls) == 1
    driver.execute_query(
        "MATCH (e:EmbeddingSpace) SET e.labels_measured_at = datetime.realtime() - duration({days: 2})"
    )
    search(kg)
    wait_until(lambda: len(calls) == 2, 10)


@pytest.mark.parametrize(("similarity", "fits"), [(0.70, "meaning"), (0.68, None), (None, None)])
def test_uncalibrated_space_accepts_upper_half_of_similarities(
    kg: Kg, similarity: float | None, fits: str | None
) -> None:
    """A5: this is the middle between related and unrelated passages (0.52 here), and any label would be
    above it."""
    space = replace(kg.spaces.get().space, calibration=None)
    meaning = Meaning(space, small_embedder().embed_query("a"), ["notes"])
    assert _fits(kg, meaning, similarity) == fits
    near = replace(meaning, space=replace(space, calibration=SimilarityCalibration(related=1, unrelated=0.9)))
    assert _fits(kg, near, similarity) is None


@pytest.mark.parametrize(("similarity", "fits"), [(0.5, "meaning"), (0.49, None)])
def test_calibrated_space_decides_which_concepts_are_near(
    kg: Kg, similarity: float, fits: str | None
) -> None:
    space = replace(kg.spaces.get().space, labels=SimilarityCalibration(related=1.0, unrelated=0.0))
    meaning = Meaning(space, small_embedder().embed_query("a"), ["notes"])
    assert _fits(kg, meaning, similarity) == fits
    blind = replace(meaning, space=replace(space, labels=SimilarityCalibration(0.42, 0.41), calibration=None))
    assert _fits(kg, blind, similarity) is None, "a model that tells nothing apart is not believed"


def _fits(kg: Kg, meaning: Meaning, similarity: float | None) -> str | None:
    hit = ConceptHit(
        concept_id="c",
        ontology="notes",
        label="l",
        description="",
        search_terms=[],
        sources=1,
        similarity=similarity,
        score=1,
    )
    (told,) = add_match_kinds(kg.graph, [hit], (), (), [meaning])
    return told.fits


def test_search_without_relevant_concept_names_the_nearest(
    service: ConceptService, ids: dict[str, str]
) -> None:
    """A5: for a nonsense query, the nearest concept was returned as if it were an answer."""
    answer = service.search("qwertyzxcv", None, 5)
    assert {each.fits for each in answer.concepts} == {None}
    assert "no concept matches 'qwertyzxcv' (nearest:" in (answer.note or "")
    with pytest.raises(NotFound, match="nearest"):
        service.find_paths("qwertyzxcv", "Thames", None, 2, 1)
    assert service.search("thames", None, 5).note is None
    assert ids
