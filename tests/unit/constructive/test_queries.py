"""What is a constructive query, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kg_api.errors import InvalidInput
from kg_api.schemas.constructive import ConstructiveQuery
from kg_api.schemas.problems import valid

SEED = {"step": "seed", "value": "leases"}


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "steps"),
        ([SEED] * 13, "steps"),
        ([{"step": "filter", "kinds": ["concept"]}], "step 1 is 'filter', but there is no node yet"),
        ([{"step": "expand", "along": ["part_of"]}, SEED], "begin with 'seed'"),
        ([{"step": "match", "value": "a"}], "'seed', 'expand', 'filter', 'rank', 'limit'"),
        ([{"value": "a"}], "step"),
        ([{**SEED, "value": " "}], "blank"),
        ([{**SEED, "by": "cypher"}], "by"),
        ([{**SEED, "by": "concept", "kinds": ["image"]}], "only a seed by 'text' takes it"),
        ([SEED, {"step": "expand", "along": []}], "along"),
        ([SEED, {"step": "expand", "along": ["KNOWS"]}], "along"),
        ([SEED, {"step": "expand", "along": ["appears_in"], "types": ["needs"]}], "only edges along"),
        ([SEED, {"step": "expand", "along": ["appears_in"], "hops": 5}], "hops"),
        ([SEED, {"step": "expand", "along": ["appears_in"], "fan_out": 101}], "fan_out"),
        ([SEED, {"step": "filter"}], "a filter needs kinds, where or documents"),
        ([SEED, {"step": "filter", "where": []}], "a filter needs"),
        ([SEED, {"step": "filter", "where": ["what"]}], "is no condition"),
        ([SEED, {"step": "rank", "by": "pagerank", "text": "a"}], "only a rank by 'text' takes it"),
        ([{**SEED, "by": "concept"}, {"step": "rank", "by": "text"}], "no seed has one"),
        ([SEED, {"step": "limit"}], "nodes"),
        ([SEED, {"step": "limit", "nodes": 0}], "nodes"),
        ([SEED, {"step": "limit", "nodes": 1001}], "nodes"),
        ([{**SEED, "cypher": "MATCH (n) DETACH DELETE n"}], "cypher"),
    ],
)
def test_what_is_none_is_refused_by_name(steps: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        valid(ConstructiveQuery, {"steps": steps})
    assert told in str(refused.value)


def test_a_rank_by_text_takes_that_of_the_first_seed() -> None:
    query = valid(ConstructiveQuery, {"steps": [SEED, {"step": "rank", "by": "text"}]})
    assert query.text == "leases"
    assert query.seconds == 10


def test_the_schema_tells_the_steps_apart_and_describes_each_field() -> None:
    schema = ConstructiveQuery.model_json_schema()
    steps = schema["properties"]["steps"]["items"]
    assert steps["discriminator"]["propertyName"] == "step"
    assert steps["discriminator"]["mapping"].keys() == {"seed", "expand", "filter", "rank", "limit"}
    for name in ("SeedStep", "ExpandStep", "FilterStep", "RankStep", "LimitStep"):
        fields = schema["$defs"][name]["properties"]
        assert [each for each in fields if each != "step" and not fields[each].get("description")] == []
    assert len(json.dumps(schema)) < 12_000  # an agent has it in its prompt
