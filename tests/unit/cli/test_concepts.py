from collections.abc import Callable
from typing import Any

import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.schemas.concepts import (
    Concept,
    ConceptContext,
    ConceptDetails,
    ConceptHits,
    ConceptPassage,
    Evidence,
    RelatedConcept,
    UnverifiedQuote,
)
from kg_cli.concepts import commands as views
from kg_cli.concepts.commands import take_concept
from tests.unit.search.found import place

Printed = Callable[[], str]


def concept(label: str, **more: Any) -> Concept:
    usual = {"concept_id": label[0], "ontology": "notes", "description": "", "search_terms": [], "sources": 2}
    return Concept.model_validate({**usual, "label": label, **more})


LEASE = concept("[lease]", description="A right for some time.", search_terms=["tenancy"])
RETRY = concept("retry")
QUOTE = Evidence(instance_id="i", quote="One fox", start=4, end=11, score=0.93, source=place("s"))


def related(**more: Any) -> RelatedConcept:
    usual = {"concept": RETRY, "type": "ends in", "outgoing": True, "confidence": 1.0, "sources": ["s1"]}
    return RelatedConcept.model_validate({**usual, **more})


def test_concept_is_shown_with_its_evidence(printed: Printed) -> None:
    details = {**LEASE.model_dump(), "evidence": [QUOTE], "more_evidence": 1, "more_related": 3}
    backwards = related(concept=concept("worker"), outgoing=False, type="holds", hops=2)
    views.print_concept(ConceptDetails.model_validate({**details, "related": [related(), backwards]}))
    for told in ("“One fox”", "4-11", "likeness 0.93", "[lease] ends in retry", "worker holds [lease]"):
        assert told in printed()
    assert "1 quote, 3 related" in printed()
    assert [each.strip() for each in printed().splitlines() if "hop" in each] == [
        "worker holds [lease]  1 source, 2 hops"
    ]


def test_what_nothing_proves_is_marked(printed: Printed) -> None:
    said = UnverifiedQuote(quote="made up", source_id="s", document="a.md", paragraph=3)
    doubtful = LEASE.model_copy(update={"verified": False})
    details = {**doubtful.model_dump(), "evidence": [], "more_evidence": 0, "related": [], "more_related": 0}
    details |= {"unverified": [said], "more_unverified": 2}
    views.print_concept(ConceptDetails.model_validate(details))
    for told in ("no quote proves it", "“made up”", "not in a.md ¶3, or only the name", "2 unverified"):
        assert told in printed()
    passage = ConceptPassage(source_id="s", carried_by=["s"], quotes=[], sources=[place("s")])
    views.print_passages(ConceptContext(concept=doubtful, window_size=0, passages=[passage], more_passages=0))
    assert "no quote of it proves the concept" in printed()


class Searching(KgClient):
    def __init__(self, label: str, fits: str | None, *ontologies: str) -> None:
        found = concept(label, concept_id="c" * 32).model_dump()
        hit = {**found, "score": 0.1, "similarity": 0.5, "fits": fits}
        hits = [{**hit, "ontology": each} for each in ontologies or ("notes",)]
        self.found = ConceptHits.model_validate({"query_text": "q", "concepts": hits, "degraded": []})

    def search_concepts(self, *_: Any, **__: Any) -> ConceptHits:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.found


def test_id_prefix_is_resolved_by_the_service() -> None:
    assert take_concept(Searching("retry", None), "477dc963", "notes") == "477dc963"
    assert take_concept(Searching("retry", "meaning"), "477dc9638b", "notes") == "477dc9638b"


def test_a_name_goes_before_digits() -> None:
    assert take_concept(Searching("deadbeef", "name"), "deadbeef", "notes") == "c" * 32


@pytest.mark.parametrize(
    ("fits", "ontologies", "told"),
    [
        ("name", ("notes", "talks", "talks", "zoo"), "Others are in 'talks', 'zoo': choose with --ontology"),
        ("words", ("notes", "talks"), "no concept has the name 'lease'. kg chose the best match 'leases'"),
    ],
)
def test_doubtful_choice_is_reported(
    fits: str, ontologies: tuple[str, ...], told: str, printed: Printed
) -> None:
    assert take_concept(Searching("leases", fits, *ontologies), "lease", None) == "c" * 32
    assert told in printed()


@pytest.mark.parametrize("text", ["477dc96", "477dc963 x", "backoff"])
def test_text_without_id_form_is_a_name(text: str) -> None:
    with pytest.raises(NotFound, match="no concept matches"):
        take_concept(Searching("retry", None), text, "notes")
