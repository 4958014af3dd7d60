from dataclasses import replace
from typing import Any

import pytest

from kg_api.discovery.proposals import (
    LinkSearch,
    Neighbour,
    PlacedText,
    compute_contrast,
    compute_link_score,
    compute_proposal_fingerprint,
    describe_link_reason,
    find_mutual_pairs,
    find_shared_words,
    find_thresholds,
    is_copy,
    is_prose,
    is_repeated,
    list_unknown_neighbours,
)
from kg_api.graph.search import ChunkText
from kg_api.graph.spaces import Space
from kg_api.schemas.base import build_proposal_id, hash_content
from kg_api.schemas.spaces import SimilarityCalibration, SpaceIdentity
from kg_api.settings import ProposalSettings
from tests.support.hits import make_place
from tests.support.proposals import EARS, LICENCE, OWLS, TAXES


def space(related: float = 0.65, unrelated: float = 0.38) -> Space:
    identity = SpaceIdentity("deterministic", "words", "1", 4, 512)
    return Space("default", identity, calibration=SimilarityCalibration(related, unrelated))


NEAR = {
    "a": [Neighbour("b", 0.9), Neighbour("c", 0.8)],
    "b": [Neighbour("a", 0.9), Neighbour("c", 0.7)],
    "c": [Neighbour("a", 0.8), Neighbour("b", 0.7)],
}


def test_both_must_be_nearest_to_each_other() -> None:
    assert list(find_mutual_pairs(["a", "b", "c"], NEAR, 1, 0.5)) == [("a", Neighbour("b", 0.9))]
    assert len(list(find_mutual_pairs(["a", "b", "c"], NEAR, 2, 0.5))) == 3, "each pair once"
    assert list(find_mutual_pairs(["c"], NEAR, 1, 0.5)) == []
    assert list(find_mutual_pairs(["a"], NEAR, 1, 0.95)) == []
    assert list(find_mutual_pairs(["a"], NEAR, 1, 0.9)) != []
    assert list_unknown_neighbours(["a"], {"a": NEAR["a"]}, 1, 0.5) == ["b"]
    assert list_unknown_neighbours(["a"], {"a": NEAR["a"]}, 2, 0.9) == ["b"]
    assert list_unknown_neighbours(["a"], NEAR, 2, 0.5) == []
    assert list(find_mutual_pairs(["a"], {"a": NEAR["a"]}, 1, 0.5)) == [], "of the other nothing is known"


def test_the_contrast_is_over_what_else_is_near() -> None:
    assert compute_contrast("a", NEAR["a"][0], NEAR) == pytest.approx(0.9 - (0.8 + 0.7) / 2)
    alone = {"a": [Neighbour("b", 0.9)], "b": [Neighbour("a", 0.9)]}
    assert compute_contrast("a", alone["a"][0], alone) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "text",
    [
        "Rejected.",
        'curl -X POST https://host/v1/x \\\n -H \'a: b\' -d \'{"a": [{"b": 1}, {"c": 2}], "d": {"e": 3}}\'',
        "Author: Ada\nStatus: Final\nType: Informational\nCreated: today in the morning\nVersion: the third",
    ],
)
def test_headings_listings_and_fields_say_too_little(text: str) -> None:
    assert not is_prose(text)
    assert is_prose(OWLS)


def passage(document: str, text: str, *heading: str) -> PlacedText:
    return PlacedText(document, heading, text)


def test_what_several_documents_repeat_is_boilerplate() -> None:
    own = passage("own", LICENCE)
    others = [passage(f"{number}", f"{LICENCE} Of {number}.") for number in range(3)]
    assert is_repeated(own, others)
    assert not is_repeated(own, others[:1]), "one other document may quote it"
    assert not is_repeated(own, [passage("same", LICENCE)] * 3), "of one document"
    assert not is_repeated(passage("own", OWLS), [passage("1", EARS), passage("2", TAXES)])


def test_form_section_is_not_distinctive() -> None:
    thanks = "Thanks to all who took part in discussions of this proposal, most of all to"
    own = passage("own", f"{thanks} Ada and Grace and Lise of the lab.", "Top", "Acknowledgements")
    names = ("Bob Jones from the works next door", "Tim and Ken of the other house", "Guido alone")
    others = [passage(each, f"{thanks[:40]} {each}", "ACKNOWLEDGEMENTS") for each in names]
    assert is_repeated(own, others)
    assert not is_repeated(own, [replace(each, heading=["Motivation"]) for each in others])
    assert not is_repeated(replace(own, heading=[]), [replace(each, heading=[]) for each in others])
    journal = [passage(f"{day}", text, "Notes") for day, text in enumerate((EARS, TAXES, LICENCE))]
    assert not is_repeated(passage("own", OWLS, "Notes"), journal), "all days have such a heading"


def test_a_copy_says_nothing_new() -> None:
    assert is_copy(OWLS, f"{OWLS} {EARS}")
    assert is_copy(f"{OWLS} {EARS}", OWLS)
    assert not is_copy(OWLS, EARS)


def test_shared_words_are_rare_ones() -> None:
    assert find_shared_words(OWLS, EARS)[:2] == ["voles", "owls"]
    assert find_shared_words(OWLS, TAXES) == []
    assert find_shared_words("Voles, 19537", "19537 VOLES") == ["voles"]
    many = " ".join(f"{letter}xqzv" for letter in "abcdefghi")
    assert find_shared_words(many, many) == [f"{letter}xqzv" for letter in "abcdef"]


def test_reason_has_nearness_contrast_and_shared_words() -> None:
    one = describe_link_reason("source", 0.8, within=1, hops=2, contrast=0.3, shared=["voles", "owls"])
    assert one == (
        "Closest passages of two documents (similarity 0.80, 0.30 above other neighbours). "
        "Not connected within 2 steps. Shared words: voles, owls."
    )
    several = describe_link_reason("concept", 0.8, within=3, hops=1, contrast=0.3, shared=[])
    assert several == (
        "Among the 3 closest concepts of two documents (similarity 0.80, 0.30 above other neighbours). "
        "Not connected within 1 step."
    )


def test_thresholds_follow_the_model_unless_they_are_set() -> None:
    settings, usual = ProposalSettings(), space()
    least, contrast = find_thresholds("source", settings, usual)
    assert least == pytest.approx(0.38 + 1.55 * 0.27, abs=0.001)
    assert contrast == pytest.approx(0.22 * 0.27, abs=0.001)
    assert find_thresholds("source", ProposalSettings(min_similarity=0.7), usual)[0] == 0.7
    assert find_thresholds("source", settings, space(related=0.95, unrelated=0.8))[0] == 0.97
    own = ProposalSettings(min_contrast=0.0, min_concept_similarity=0.8, min_concept_contrast=0.1)
    assert find_thresholds("concept", own, usual) == (0.8, 0.1)
    assert find_thresholds("source", own, usual) == (least, 0)


def test_score_of_a_link_is_its_contrast_from_0_to_1() -> None:
    found = [compute_link_score(contrast, space()) for contrast in (-1, 0.135, 0.27, 2)]
    assert found == pytest.approx([0, 0.5, 1, 1])


def test_only_relevant_settings_restart_the_comparison() -> None:
    usual = space()

    def mark(**settings: Any) -> str:
        return compute_proposal_fingerprint(ProposalSettings(**settings), usual)

    assert mark(max_open=7) == mark(enabled=False) == mark()
    assert mark(hops=1) != mark()


def test_proposal_id_is_independent_of_order() -> None:
    one, other = hash_content(OWLS), hash_content(EARS)
    assert build_proposal_id("notes", "source", one, other) == build_proposal_id(
        "notes", "source", other, one
    )
    assert build_proposal_id("notes", "source", one, other) != build_proposal_id("mail", "source", one, other)


@pytest.mark.parametrize(
    ("start", "end", "quote"),
    [(12, 15, (2, 5)), (5, 30, (0, 6)), (13, 99, (3, 6)), (16, 40, (None, None)), (2, 10, (None, None))],
)
def test_quote_of_a_link_stays_within_its_source(
    start: int, end: int, quote: tuple[int | None, int | None]
) -> None:
    graph: Any = None
    search = LinkSearch(graph, "source", "notes", space(), ProposalSettings())
    search._places = {"s": make_place("s", "source", 10)}
    found = search._build_end("s", ChunkText("chunk", start, end, ("r", "s")))
    assert (found.start, found.end) == quote
