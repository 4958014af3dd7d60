from __future__ import annotations

import pytest

from kg_api.errors import InvalidInput
from kg_cli.evaluate.choice import Choice, parse_choice


def test_search_and_ontology_options_are_separated() -> None:
    found = parse_choice(
        ["mode=vector", "rerank=true", "mmr_lambda=0.5", "strategy=sentence", "chunk_size=30"]
    )
    assert found.mode == "vector"
    assert found.search == {"rerank": True, "mmr_lambda": 0.5}
    assert found.embedding == {"strategy": "sentence", "chunk_size": 30}
    assert found.label == "vector rerank=true mmr_lambda=0.5 strategy=sentence chunk_size=30"


def test_the_usual_needs_no_ontology_of_its_own() -> None:
    assert Choice().corpus == parse_choice(["mode=text"]).corpus == ""
    names = {parse_choice([pair]).corpus for pair in ("strategy=sentence", "context=template")}
    assert len(names) == 2
    assert "" not in names


def test_extraction_options_create_a_separate_ontology() -> None:
    found = parse_choice(["mode=concepts", "extractor=keyphrase", "per_source=5"])
    assert found.extraction == {"extractor": "keyphrase", "per_source": 5}
    assert found.corpus != ""
    assert found.label == "concepts extractor=keyphrase per_source=5"


def test_each_target_builds_its_request() -> None:
    usual = {"limit": 20, "mode": "hybrid"}
    assert parse_choice([]).asked("documents", 20) == {**usual, "per_document": 1}
    assert parse_choice([]).asked("spans", 20) == {**usual, "group_by": "chunk"}
    assert parse_choice(["per_document=3"]).asked("documents", 20) == {**usual, "per_document": 3}


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("mood=good", "mode hybrid has no option mood. Options: "),
        ("query_text=x", "mode hybrid has no option query_text"),
        ("mode", "'mode' is not of the form name=value"),
        ("=x", "is not of the form name=value"),
        ("mode=fast", "unknown mode"),
        ("extractor=magic", "extractor: "),
        ("rrf_k=0", "rrf_k: "),
        ("rerank=perhaps", "rerank: "),
        ("chunk_size=2", "chunk_size of paragraph"),
    ],
)
def test_invalid_choices_are_rejected(pair: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_choice([pair])
    assert told in str(refused.value)
