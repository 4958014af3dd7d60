from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kg_api.graph.search import MAX_CHUNKS, Filters, LaneHit
from kg_api.graph.spellings import find_variants
from kg_api.schemas.search import CarriedConcept, LeftOut, MatchedChunk, Ranks, Respelling, SourceHit
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.search.fusion import (
    UNKNOWN,
    BoundFilter,
    Nearness,
    build_vector_filter,
    count_left_out,
    find_content_words,
    get_relevance_floor,
    judge_nearness,
)
from kg_api.search.plan import COMPARED, HitPage, SearchPlan, Wording
from kg_api.search.question import PictureVector, QueryVector, SimilarityFilter
from kg_api.search.rank import (
    KEPT,
    MAX_COMPARED,
    PlaceReader,
    Ranker,
    can_go_deeper,
    fill_from_graph,
    fuse_lanes,
    needs_more,
    take_page,
)
from kg_api.search.retrieve import PICTURES, Hit, Ranking
from kg_api.search.scope import SpaceScope
from tests.unit.search.canned import CannedGraph
from tests.unit.search.found import SAID, SPACE, found, lanes, plan
from tests.unit.search.found import place as found_place

HALF = SimilarityFilter({"default": 0.5})
BROUGHT = (CarriedConcept(concept_id="c", label="C"),)


def bound(similar: SimilarityFilter, blind: Collection[str] = ()) -> BoundFilter:
    def space_of(ontology: str) -> str:
        return "large" if ontology == "far" else "default"

    return BoundFilter(similar, frozenset(blind), space_of)


def hits(*of: LaneHit) -> list[Hit]:
    return [Hit(each, each.source.source_id, each.score) for each in of]


def ids(filtered: Ranking) -> list[str]:
    return [hit.identity for hit in filtered.hits]


def far(each: LaneHit) -> LaneHit:
    return each._replace(source=each.source._replace(ontology="far"))


def test_dissimilar_or_unmeasured_hits_are_counted() -> None:
    kept = bound(HALF).apply(
        hits(found("a", 1, 0.8), found("b", 1, 0.5), found("c", 1), found("d", 1, 0.49), found("e", 1, 0.1))
    )
    assert ids(kept) == ["a", "b"]
    assert count_left_out(kept) == LeftOut(below_similarity=2, without_vector=1, nearest=0.49)


def test_each_space_has_its_own_threshold() -> None:
    both = hits(found("a", 1, 0.8), far(found("b", 1, 0.8)))
    assert ids(bound(SimilarityFilter({"default": 0.5, "large": 0.9})).apply(both)) == ["a"]
    assert ids(bound(SimilarityFilter({"large": 0.9})).apply(both)) == ["a"]
    assert ids(bound(SimilarityFilter()).apply(hits(found("c", 1)))) == ["c"]


def test_without_query_vector_hits_are_unmeasured() -> None:
    words = hits(found("a", 1), far(found("b", 1, 0.9)))
    assert ids(bound(HALF, ["default"]).apply(words)) == ["a", "b"]
    strict = bound(replace(HALF, keep_unmeasured=False), ["default"]).apply(words)
    assert (ids(strict), count_left_out(strict).without_vector) == (["b"], 1)


def test_dissimilar_graph_hits_are_counted_once() -> None:
    asked = plan(0.5, graph=True)
    ranking = build_vector_filter(asked).apply(hits(found("a", 1, 0.9), found("b", 1, 0.2)))
    carried = [found(name, 1, near, through=BROUGHT) for name, near in (("a", 0.9), ("b", 0.2), ("c", 0.3))]
    filled = fill_from_graph(asked, ranking, ranking.hits, carried, PlaceReader(CannedGraph()))
    assert ids(filled) == ["a"]
    assert count_left_out(filled) == LeftOut(below_similarity=2, nearest=0.3)
    beside = replace(asked, similar=replace(HALF, keep_carried=True))
    shown = fill_from_graph(beside, ranking, ranking.hits, carried, PlaceReader(CannedGraph()))
    assert [(hit.identity, hit.fused_rank) for hit in shown.hits] == [("a", 0), ("b", 2), ("c", 3)]
    assert count_left_out(shown) == LeftOut()
    far_only = replace(ranking, hits=hits(found("b", 1, 0.2)))
    alone = fill_from_graph(beside, far_only, [], carried[2:], PlaceReader(CannedGraph()))
    assert "c" not in ids(alone), "no hit is near"


def test_concept_hits_are_kept_among_near_ones() -> None:
    similar = bound(replace(HALF, keep_carried=True))
    brought = found("b", 1, 0.1, through=BROUGHT)
    assert ids(similar.apply(hits(brought, found("a", 1, 0.8), found("d", 1, 0.1)))) == ["b", "a"]
    alone = similar.apply(hits(brought))
    assert (alone.hits, count_left_out(alone).below_similarity) == ([], 1)
    assert ids(bound(HALF).apply(hits(brought, found("a", 1, 0.8)))) == ["a"]


def test_graph_hits_follow_the_first_hits() -> None:
    many = hits(*(found(f"{number}", 1) for number in range(KEPT + 2)))
    carried = [found("x", 1, through=BROUGHT), found("0", 1, through=BROUGHT)]
    filled = fill_from_graph(plan(graph=True), Ranking(many), many, carried, PlaceReader(CannedGraph()))
    assert ids(filled) == ["0", "1", "2", "3", "4", "5", "x", "6"]
    assert [hit.passage_rank for hit in filled.hits] == [1, 2, 3, 4, 5, 6, None, 7]


def test_vector_scores_are_weighted_for_their_model() -> None:
    given = lanes({"default": [found("a", 0.9, 0.9), found("b", 0.8, 0.8)]}, [found("c", 5)])
    usual, calibrated = (fuse_lanes(asked("wolf", space), given) for space in (SPACE, CALIBRATED))
    assert usual[0].parts[0].weight > calibrated[0].parts[0].weight


def test_first_page_without_a_near_hit_drops_concept_hits() -> None:
    given = hits(found("b", 1, 0.1, through=BROUGHT), found("a", 1, 0.8))
    for limit, kept in ((1, ["a"]), (2, ["b", "a"])):
        asked = replace(plan(limit=limit), similar=replace(HALF, keep_carried=True))
        places = PlaceReader(CannedGraph())
        assert ids(Ranker(CannedGraph()).refine(asked, Ranking(given), places)) == kept


@pytest.mark.parametrize(
    ("lane", "depth", "deeper"),
    [(0.5, 50, True), (0.49, 50, False), (0.5, MAX_CHUNKS, False), (None, 50, True)],
)
def test_search_goes_deeper_until_hits_are_below_threshold(
    lane: float | None, depth: int, deeper: bool
) -> None:
    known = replace(asked("wolf"), similar=HALF, depth=depth)
    by_vector = {} if lane is None else {"default": [found("a", 1, 0.9), found("b", 1, lane)]}
    assert can_go_deeper(known, replace(lanes(by_vector), cut=True)) is deeper
    assert can_go_deeper(replace(known, similar=SimilarityFilter()), lanes(by_vector)) is False


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, False),
        ({"per_document": 1}, True),
        ({"collapse_duplicates": True}, True),
        ({"collapse_duplicates": True, "limit": 1}, False),
    ],
)
def test_search_goes_deeper_to_fill_a_page(options: dict[str, Any], more: bool) -> None:
    known = replace(asked("wolf"), request=plan(**options).request)
    ranking, cut = Ranking(hits(found("a", 1), found("b", 1))), replace(lanes(), cut=True)
    assert needs_more(known, cut, ranking, PlaceReader(CannedGraph())) is more


def test_threshold_and_fixed_fusion_compare_all_keyword_hits() -> None:
    known = asked("wolf")
    assert known.compared_by_words == COMPARED
    assert replace(known, similar=HALF).compared_by_words == known.depth
    assert replace(known, request=plan(fusion="rrf").request).compared_by_words == known.depth
    assert replace(known, request=plan(limit=15).request).compared_by_words == 30


@pytest.mark.parametrize(
    ("options", "more", "notes"),
    [
        ({"collapse_duplicates": True}, 1, 1),
        ({"collapse_duplicates": True}, 0, 0),
        ({"per_document": 1}, 1, 0),
    ],
)
def test_hits_beyond_the_comparison_are_reported(options: dict[str, Any], more: int, notes: int) -> None:
    known, many = plan(**options), [found(f"{number}", 1) for number in range(MAX_COMPARED + more)]
    Ranker(CannedGraph()).refine(known, Ranking(hits(*many)), PlaceReader(CannedGraph()))
    assert len(known.notes.all) == notes


@pytest.mark.parametrize(
    ("cut", "given", "depth", "notes"),
    [
        (True, b"x", MAX_CHUNKS, 1),
        (True, b"", MAX_CHUNKS, 0),
        (False, b"x", MAX_CHUNKS, 0),
        (True, b"x", 50, 0),
    ],
)
def test_last_page_reports_that_more_may_exist(cut: bool, given: bytes, depth: int, notes: int) -> None:
    page = HitPage(given=frozenset({given} if given else ()))
    known = replace(plan(), page=page, depth=depth)
    ranking = Ranking(hits(found("a", 1)))
    candidates = replace(lanes(), cut=cut)
    shown = take_page(known, candidates, ranking, 1, PlaceReader(CannedGraph()))
    assert (ids(shown), shown.more, len(known.notes.all)) == (["a"], depth == 50, notes)


def test_hits_beyond_the_comparison_are_on_further_pages() -> None:
    for collapse, count, more in ((True, 501, True), (True, 500, False), (False, 501, False)):
        known, ranking = plan(collapse_duplicates=collapse), Ranking(hits(found("a", 1)))
        assert take_page(known, lanes(), ranking, count, PlaceReader(CannedGraph())).more is more


CALIBRATED = replace(SPACE, calibration=SimilarityCalibration(related=0.6, unrelated=0.1))


def place(identity: str, text: str = SAID, chunk: str = "") -> SourceHit:
    matched = MatchedChunk(text=chunk or text, start=0, end=len(chunk or text))
    about = found_place(identity, text).model_dump()
    return SourceHit(**about, similarity=None, score=1, ranks=Ranks(), chunk=matched)


def asked(question: str, space: object = CALIBRATED, hypothetical: tuple[str, ...] = ()) -> SearchPlan:
    known = plan(query_text=question)
    assert isinstance(space, type(SPACE))
    vector = QueryVector(space, np.ones(3, dtype=np.float32), usable=True, hypothetical=hypothetical)
    scope = replace(known.scope, spaces=[SpaceScope(space, Filters())])
    wording = replace(known.wording, variants=find_variants(question))
    return replace(known, vectors=[vector], scope=scope, wording=wording)


@pytest.mark.parametrize(("similarity", "near"), [(0.5, True), (0.491, True), (0.48, False)])
def test_passage_is_near_slightly_below_the_threshold(similarity: float, near: bool) -> None:
    told = judge_nearness(
        asked("what do foxes do all day"), lanes({"default": [found("a", 1, similarity)]}), []
    )
    assert told.near is near
    assert (told.note is None) is near
    if told.note:
        assert "no close match for 'what do foxes do all day'" in told.note
        assert told.note.endswith("0.48, and close matches start at 0.50")


def test_images_are_not_judged_by_content() -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    seen = PictureVector(SPACE, ["notes"], np.ones(3, dtype=np.float32))
    told = judge_nearness(replace(asked("red"), pictures=[seen]), far, [])
    assert "no close match for 'red' in its text. The content of images is not checked" in (told.note or "")


def test_first_hit_by_image_or_of_a_later_page_is_not_judged() -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    seen = replace(far, lanes={**far.lanes, f"{PICTURES}default": [found("a", 1)]})
    for shown, near in (([place("a")], None), ([place("b")], False), ([], False)):
        assert judge_nearness(asked("red"), seen, shown).near is near
    later = replace(asked("red"), page=HitPage(given=frozenset({b"a"})))
    assert judge_nearness(later, far, [place("a")]).near is None


FARM = "The drought began in May, and the harvest was lost. It was the year 1945."
ROOF = "Three offers for the roof must be obtained."


@pytest.mark.parametrize(
    ("question", "text", "near"),
    [
        ("drought wheat harvest 1945", FARM, True),
        ("droughts and harvesting", FARM, True),  # in any form
        ("wheat harvest prices 1945", FARM, True),
        ("wheat market prices 1945", FARM, False),
        ("wheat market export tariffs harvest 1945", FARM, False),
        ("roof repair offers", ROOF, True),
        ("roof repair", ROOF, False),  # one of two words says little
        ("Kurbisse", "Kürbisse im Herbst", True),
        ("configuring services", "the service is configured", True),
        ("6254", "Die Rechnung war 6.254 Euro", True),
        ("6,254.00 euro", "Die Rechnung war 6.254,00 Euro", True),
        ("18400", "Sum: 18,400.00", True),
        ("4600", "| rent | -4600.00 |", True),
        ("3250", "a total of 3,251.00", False),
        ("version 3.10", "version 3.1", False),
        ("minutes 17 June 2025", "Minutes of 2025-06-17", True),
        ("minutes June 2025", "Protokoll vom 17. Juni 2025, Minutes", True),
        ("minutes 17 June 2025", "Minutes of 2025-06-18, 17 June", False),
        ("HX7730912", "The pump HX-7730912 leaks.", True),
        ("HX7730912", "The pump HX-7730913 leaks.", False),
        ("HX7730912 warranty", "The pump HX-7730912 leaks.", False),
        ("HX 7730912", "The pump HX7730912 leaks.", True),
        ("?!", FARM, False),
        ("Top 100 hills", "One hill", True),  # the heading is `Top`
        ("purple elephants dancing", FARM, False),
    ],
)
def test_first_hit_with_half_the_words_is_near(question: str, text: str, near: bool) -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    assert judge_nearness(asked(question), far, [place("a", text)]).near is near
    assert (
        judge_nearness(asked(question), far, [place("b", "Nothing of it."), place("a", text)]).near is False
    )


def test_words_of_chunks_names_aliases_and_corrections_count() -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    chunk = place("a", "The harvest of 1945.", chunk="The drought began.\n\nThe harvest of 1945.")
    assert judge_nearness(asked("drought harvest"), far, [chunk]).near, "a chunk has several paragraphs"
    assert judge_nearness(asked("drought harvest"), far, [place("a", FARM, chunk="The drought began")]).near
    aliased = place("a").model_copy(update={"metadata": {"aliases": ["HHB-77", "quayside manual"]}})
    assert judge_nearness(asked("quayside manual"), far, [aliased]).near
    named = place("a").model_copy(update={"document": "2024/Lindenstraße_minutes.md"})
    assert judge_nearness(asked("Lindenstraße"), far, [named]).near
    assert judge_nearness(asked("minutes"), far, [named]).near
    assert judge_nearness(asked("a.md"), far, [place("a")]).near
    misspelt, starter = asked("sourdoh starter"), place("a", "Feed the sourdough starter.")
    assert judge_nearness(misspelt, far, [starter]).near is False
    misspelt.notes.respelt = [Respelling(word="sourdoh", meant=["sourdough"])]
    assert judge_nearness(misspelt, far, [starter]).near


BGE = replace(CALIBRATED, identity=replace(SPACE.identity, model="bge-small-en-v1.5"))
RENT = "Der Mieter darf Hunde nur mit Zustimmung des Vermieters halten. Die Kaution ist hoch."
SUITE = "Das Haus ist alt und die Treppe wird nicht von dem Vermieter gereinigt."


@pytest.mark.parametrize(
    ("question", "language", "near"),
    [
        ("Wer darf die Heizung im Keller der Firma reparieren?", "german", False),
        ("Darf ich eine Katze halten?", "german", True),
        ("Wie strickt man einen Pullover?", "german", False),
        ("Tiere halten", None, True),
        ("Dinosaurier Aussterben", None, False),
    ],
)
def test_words_decide_in_languages_unknown_to_model(question: str, language: str | None, near: bool) -> None:
    """All cosines are high."""
    high = lanes({"default": [found("a", 1, 0.9)]})
    asking = replace(asked(question, BGE), wording=Wording(language=language))
    told = judge_nearness(asking, high, [place("a", RENT), place("b", SUITE)])
    assert told.near is near
    named = "the question is German; bge-small-en-v1.5 supports English."
    assert (named in (told.note or "")) is (language is not None)
    assert (told.note or "").startswith(f"no close match for {question!r}: the first hit has ") is not near
    assert ("only 1 of 5 keywords" in (told.note or "")) is question.startswith("Wer darf")


def test_stop_words_of_the_texts_do_not_count() -> None:
    high, cake = lanes({"default": [found("a", 1, 0.9)]}), place("a", f"Der Kuchen vom Blech. {RENT}")
    both = cake.model_copy(update={"ranks": Ranks(vector=1, text=1)})
    for question, near in (("Sprechstunde vom Zahnarzt", False), ("Kaution vom Zahnarzt", True)):
        assert judge_nearness(asked(question, BGE), high, [both, place("b", SUITE)]).near is near


@pytest.mark.parametrize(
    "text",
    [
        "ทีมแพนเธอร์สเสียแต้มเพียง 308 แต้ม และอยู่ในอันดับที่หกของลีก",
        "საქართველო მდებარეობს კავკასიაში, შავი ზღვის სანაპიროზე",
        "Հայաստանը գտնվում է Կովկասում, և մայրաքաղաքը Երևանն է",
        "বাংলাদেশ দক্ষিণ এশিয়ার একটি দেশ, এবং রাজধানী ঢাকা",
        "தமிழ்நாடு இந்தியாவின் ஒரு மாநிலம், தலைநகரம் சென்னை",
        "አዲስ አበባ የኢትዮጵያ ዋና ከተማ ናት",
    ],
    ids=["thai", "georgian", "armenian", "bengali", "tamil", "ethiopic"],
)
def test_texts_in_languages_without_stop_words(text: str) -> None:
    high, shown = lanes({"default": [found("a", 1, 0.2)]}), [place("a", text)]
    told = judge_nearness(asked(f"Kaution {text.split(maxsplit=1)[0]}", BGE), high, shown)
    assert told.near is True, "the first hit has half of the keywords"
    assert judge_nearness(asked("Kaution Zahnarzt", BGE), high, shown).near is False


def test_one_word_suffices_for_hit_of_both_retrievers() -> None:
    asking = asked("Klavier Halten Bienen Hof Sofa", BGE)
    high, rent = lanes({"default": [found("a", 1, 0.9)]}), place("a", RENT)
    assert judge_nearness(asking, high, [rent, place("b", SUITE)]).near is False
    both = rent.model_copy(update={"ranks": Ranks(vector=1, text=1)})
    assert judge_nearness(asking, high, [both, place("b", SUITE)]).near


def test_cosine_decides_in_a_known_language() -> None:
    high = lanes({"default": [found("a", 1, 0.9)]})
    for language in ("english", None):
        asking = replace(asked("how do I knit a sweater", BGE), wording=Wording(language=language))
        assert judge_nearness(asking, high, [place("a")]) == Nearness(near=True)


def test_note_names_hits_in_a_language_unknown_to_model() -> None:
    asking = replace(asked("how much is the deposit", BGE), wording=Wording(language="english"))
    for similarity, near in ((0.9, True), (0.2, False)):
        given = lanes({"default": [found("a", 1, similarity)]})
        told = judge_nearness(asking, given, [place("a", RENT), place("b", SUITE)])
        assert told.near is near
        assert "the question is English, and the first hits are German; bge-small" in (told.note or "")
        assert judge_nearness(asking, given, [place("a", FARM)]).note is None or not near


def test_relevance_is_unknown_without_vector_or_calibration() -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    weak = replace(SPACE, calibration=SimilarityCalibration(related=0.61, unrelated=0.6))
    assert judge_nearness(plan(), far, []) == UNKNOWN
    assert judge_nearness(asked("wolf", SPACE), far, []) == UNKNOWN
    assert judge_nearness(asked("wolf", weak), far, []) == UNKNOWN
    assert judge_nearness(asked("wolf", hypothetical=("a", "b")), far, []) == UNKNOWN
    assert judge_nearness(asked("wolf"), lanes({"default": []}), []) == UNKNOWN


def test_short_questions_have_a_floor_of_their_own() -> None:
    space = replace(CALIBRATED, identity=replace(SPACE.identity, model="all-MiniLM-L6-v2"))
    few, many = get_relevance_floor(space, 2), get_relevance_floor(space, 4)
    assert few is not None
    assert many is not None
    assert few < many
    assert find_content_words("What is the quantum theory of it?") == {"quantum", "theory"}
    assert find_content_words("to be") == {"to", "be"}
