from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kg_api.graph.search import Filters
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.search.fusion import UNKNOWN, find_content_words, get_relevance_floor, nearness
from kg_api.search.plan import HitPage, SearchPlan, Wording
from kg_api.search.question import PictureVector, QueryVector
from kg_api.search.retrieve import PICTURES
from kg_api.search.scope import SpaceScope
from tests.unit.search.found import SPACE, found, lanes, place, plan

CALIBRATED = replace(SPACE, calibration=SimilarityCalibration(related=0.6, unrelated=0.1))
"""Near begins at 0.5."""


def asked(question: str, space: object = CALIBRATED, hypothetical: tuple[str, ...] = ()) -> SearchPlan:
    known = plan(query_text=question)
    assert isinstance(space, type(SPACE))
    vector = QueryVector(space, np.ones(3, dtype=np.float32), usable=True, hypothetical=hypothetical)
    return replace(known, vectors=[vector], scope=replace(known.scope, spaces=[SpaceScope(space, Filters())]))


@pytest.mark.parametrize(("similarity", "near"), [(0.5, True), (0.491, True), (0.48, False)])
def test_passage_is_near_slightly_below_the_threshold(similarity: float, near: bool) -> None:
    told = nearness(asked("what do foxes do all day"), lanes({"default": [found("a", 1, similarity)]}), [])
    assert told.near is near
    assert (told.note is None) is near
    if told.note:
        assert "no close match for 'what do foxes do all day'" in told.note
        assert "0.48, and close matches start at 0.50" in told.note


def test_images_are_not_judged_by_content() -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    seen = PictureVector(SPACE, ["notes"], np.ones(3, dtype=np.float32))
    told = nearness(replace(asked("red"), pictures=[seen]), far, [])
    assert "no close match for 'red' in its text. The content of images is not checked" in (told.note or "")


def test_best_image_by_content_is_not_judged() -> None:
    """Image spaces have no threshold, so the relevance of the best hit is unknown."""
    far = lanes({"default": [found("a", 1, 0.2)]})
    both = replace(far, lanes={**far.lanes, f"{PICTURES}photos": [found("p", 1, 0.3)]})
    seen = PictureVector(SPACE, ["notes"], np.ones(3, dtype=np.float32))
    asking = replace(asked("red"), pictures=[seen])
    assert nearness(asking, both, [place("p"), place("a")]) == UNKNOWN
    assert nearness(asking, both, [place("a"), place("p")]).near is False
    assert nearness(asking, both, [place("p", "a red boat")]).near, "its words are"


def test_passage_with_all_query_words_is_near() -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    assert nearness(asked("which is the FOX that runs"), far, [place("a")]).near
    assert nearness(asked("top fox"), far, [place("a")]).near, "headings count"
    aliased = place("a").model_copy(update={"metadata": {"aliases": ["HHB-77", "quayside manual"]}})
    assert nearness(asked("quayside manual"), far, [aliased]).near, "aliases count"
    assert nearness(asked("fox wolf"), far, [place("a")]).near is False
    assert nearness(asked("fox hill"), far, [place("a", "A fox."), place("b", "A hill.")]).near is False


def test_first_hit_of_vectors_and_keywords_is_near() -> None:
    question, crew = (
        asked("who pays for the boat trip of the crew"),
        place("a", "The crew sleeps on the boat."),
    )
    by_vector, by_words = [found("a", 1, 0.2), found("b", 1, 0.1)], [found("a", 9), found("b", 1)]
    both = lanes({"default": by_vector}, by_words)
    assert nearness(question, both, [crew, place("b")]).near
    assert nearness(question, both, [place("b"), crew]).near is False, "reranking put another first"
    assert nearness(question, lanes({"default": by_vector}, by_words[::-1]), [crew]).near is False
    assert nearness(question, lanes({"default": by_vector}), [crew]).near is False, "only vectors found it"
    assert nearness(question, both, [place("a", "The crew sleeps.")]).near is False, "one word of four"


def test_note_names_a_language_unknown_to_the_model() -> None:
    bge = replace(CALIBRATED, identity=replace(SPACE.identity, model="bge-small-en-v1.5"))
    near, question = lanes({"default": [found("a", 1, 0.9)]}), "wie viel Kaution muss ich zahlen"
    german = replace(asked(question, bge), wording=Wording(language="german"))
    told = nearness(german, near, [place("a")])
    assert told.near is None, "everything is near"
    assert (told.note or "").startswith("the question is German; bge-small-en-v1.5 supports English.")
    with_all = nearness(german, near, [place("a", "Wie viel Kaution muss ich zahlen?")])
    assert (with_all.near, with_all.note) == (True, told.note)
    assert nearness(replace(german, wording=Wording(language="english")), near, []).note is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Zwiebel", "zwanzig Zwiebeln"),
        ("Kurbisse", "Kürbisse im Herbst"),
        ("configuring services", "the service is configured"),
    ],
)
def test_passage_with_inflected_query_words_is_near(question: str, text: str) -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    assert nearness(asked(question), far, [place("a", text)]).near
    assert nearness(asked(f"{question} wolf"), far, [place("a", text)]).near is False


def test_relevance_is_unknown_without_vector_or_calibration() -> None:
    far = lanes({"default": [found("a", 1, 0.2)]})
    weak = replace(SPACE, calibration=SimilarityCalibration(related=0.61, unrelated=0.6))
    assert nearness(plan(), far, []) == UNKNOWN
    assert nearness(asked("wolf", SPACE), far, []) == UNKNOWN
    assert nearness(asked("wolf", weak), far, []) == UNKNOWN
    assert nearness(asked("wolf", hypothetical=("a", "b")), far, []) == UNKNOWN
    assert nearness(asked("wolf"), lanes({"default": []}), []) == UNKNOWN


def test_keywords_do_not_decide_on_later_pages() -> None:
    """A passage with all words may have been on a page before."""
    further = replace(asked("fox wolf"), page=HitPage(given=frozenset({b"hit"})))
    assert nearness(further, lanes({"default": [found("a", 1, 0.2)]}), [place("a")]) == UNKNOWN
    assert nearness(further, lanes({"default": [found("a", 1, 0.5)]}), [place("a")]).near
    with_all = replace(further, request=asked("fox").request)
    assert nearness(with_all, lanes({"default": [found("a", 1, 0.2)]}), [place("a")]).near


def test_short_questions_have_a_floor_of_their_own() -> None:
    space = replace(CALIBRATED, identity=replace(SPACE.identity, model="all-MiniLM-L6-v2"))
    few, many = get_relevance_floor(space, 2), get_relevance_floor(space, 4)
    assert few is not None
    assert many is not None
    assert few < many
    assert find_content_words("What is the quantum theory of it?") == {"quantum", "theory"}
    assert find_content_words("to be") == {"to", "be"}
