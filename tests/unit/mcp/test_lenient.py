import json
from typing import Annotated, Any, Literal

import pytest
from mcp.server.lowlevel import Server
from pydantic import BaseModel, Field

from kg_api.mcp.server import TOOLS
from kg_api.mcp.tool import read_arguments, rephrase_for_agents
from tests.support.library import MemoryLibrary
from tests.support.mcp import answer, call


class Arguments(BaseModel):
    query: Annotated[str, Field(min_length=1)]
    names: Annotated[list[str], Field(min_length=1)] | None = None
    numbers: list[int] | None = None
    name: str | None = None
    limit: Annotated[int, Field(strict=True, ge=1)] = 10
    share: Annotated[float, Field(ge=0)] | None = None
    flag: Annotated[bool, Field(strict=True)] = False
    mode: Literal["a", "b"] = "a"


def read(**given: Any) -> dict[str, Any]:
    return read_arguments(Arguments, given)


@pytest.mark.parametrize(
    ("name", "sent", "meant"),
    [
        *(("names", sent, ["peps"]) for sent in ('["peps"]', "peps", '"peps"')),
        ("names", "['peps', 'notes']", ["peps", "notes"]),
        ("names", "[draft] notes.md", ["[draft] notes.md"]),
        ("names", "true", ["true"]),
        ("names", ["", "peps"], ["", "peps"]),
        ("names", 2024, ["2024"]),
        ("names", "2024", ["2024"]),
        ("numbers", '["1", 2]', [1, 2]),
        ("numbers", "7", [7]),
        ("limit", "5", 5),
        ("limit", "5.0", 5),
        ("share", "0.5", 0.5),
        ("share", "1", 1.0),
        ("flag", "false", False),
        *(("flag", sent, True) for sent in ("True", "yes", 1)),
        ("flag", 0.0, False),
        ("name", 2024, "2024"),
        ("name", 2024.0, "2024"),
        ("name", True, "true"),
        ("name", ["notes"], "notes"),
        ("mode", ["b"], "b"),
        ("query", 2024, "2024"),
    ],
)
def test_near_miss_arguments_are_accepted(name: str, sent: object, meant: object) -> None:
    found = read(**{"query": "x", name: sent})[name]
    assert found == meant
    assert type(found) is type(meant)
    Arguments.model_validate(read(**{"query": "x", name: sent}))


NOTHING = [
    *("", " ", [], {}, None, "null", "None", "undefined"),
    *("[]", [""], [None], '""', '[""]', "['']", "[null]"),
]


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
@pytest.mark.parametrize("name", [name for name in Arguments.model_fields if name != "query"])
def test_nothing_for_an_optional_argument_is_not_given(name: str, nothing: object) -> None:
    assert read(**{"query": "x", name: nothing}) == {"query": "x"}


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        *(("names", sent) for sent in ("['peps\"]", "['the dog's']", {"a": "b"}, True)),
        *(("limit", sent) for sent in ("5.5", True, "1" * 30, [5])),
        ("share", "nan"),
        ("flag", "maybe"),
        ("flag", 2),
        ("mode", "c"),
        ("name", ["a", "b"]),
        ("query", ""),
        ("query", []),
        ("other", ""),
    ],
)
def test_ambiguous_arguments_are_left_unchanged(name: str, sent: object) -> None:
    given = {"query": "x", name: sent}
    assert read_arguments(Arguments, given) == given


def test_the_schema_stays_strict_and_small() -> None:
    for tool in TOOLS.values():
        schema = tool.describe().input_schema
        assert "additionalProperties" not in json.dumps(schema)
        assert all("anyOf" not in each for each in schema.get("properties", {}).values())
    limit = TOOLS["search_sources"].describe().input_schema
    assert limit["properties"]["limit"]["type"] == "integer"


def test_search_accepts_text_arguments_on_every_page(server: Server[Any], library: MemoryLibrary) -> None:
    library.add("nature", "many.txt", [f"Bees dance {'and dance ' * 30}{n}.\n" for n in range(20)])
    strict: dict[str, Any] = {"ontologies": ["nature"], "limit": 20, "all_copies": True, "token_budget": 600}
    loose = {name: json.dumps(value) for name, value in strict.items()}
    loose |= {"query": "dance", "cursor": "null", "where": "[]"}
    strict["query"] = "dance"
    first = answer(call(server, "search_sources", **strict))
    assert answer(call(server, "search_sources", **loose)) == first
    loose["cursor"] = strict["cursor"] = first["more"]["cursor"]
    later = answer(call(server, "search_sources", **strict))
    assert answer(call(server, "search_sources", **loose)) == later != first


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("there is no 'x'; `kg documents` lists them", "there is no 'x'; `list_documents` lists them"),
        ("`kg images list --ontology o` shows them", "`search_images` shows them"),
        ("`kg concepts search` finds it", "`hybrid_search` finds it"),
        ("`kg doctor` says why", "`kg doctor` says why (You have no shell: the user runs `kg` commands.)"),
        ("ontology.0: letters; query_text: is blank", "ontologies.0: letters; query: is blank"),
        ("nothing to say of it", "nothing to say of it"),
    ],
)
def test_hints_name_tools_instead_of_commands(message: str, said: str) -> None:
    assert rephrase_for_agents(message) == said
