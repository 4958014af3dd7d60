"""What agents are told of a collection before they ask: what it is about, and which links are proposed."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.server.lowlevel import Server

from tests.support.library import PARAGRAPHS, MemoryLibrary
from tests.support.mcp import answer, call, failure, walk


def test_communities_are_listed_and_their_parts(server: Server[Any], library: MemoryLibrary) -> None:
    bees = library.add_community("bees, swarm, dance", parts=1)
    library.add_community("honey, comb, wax", parent_id=bees.community_id)
    found = answer(call(server, "list_communities", ontology="nature"))
    told = {"community_id": bees.community_id, "name": "bees, swarm, dance", "concepts": 3, "parts": 1}
    assert found["communities"] == [{**told, "labels": ["bees", "swarm", "dance"]}]
    assert found["total"] == 1
    parts = answer(call(server, "list_communities", ontology="nature", parent=bees.community_id))
    assert [each["name"] for each in parts["communities"]] == ["honey, comb, wax"]


def test_why_there_are_no_communities_is_told(server: Server[Any]) -> None:
    assert answer(call(server, "list_communities", ontology="nature"))["notes"] == ["none were detected yet"]


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        ({}, "ontology"),
        ({"ontology": ""}, "ontology"),
        ({"ontology": "a/b"}, "ontology"),
        ({"ontology": "a", "parent": "p" * 101}, "parent"),
    ],
)
def test_wrong_names_are_told(server: Server[Any], asked: dict[str, str], wrong: str) -> None:
    assert wrong in failure(call(server, "list_communities", **asked))


def test_many_communities_are_listed_bit_by_bit(server: Server[Any], library: MemoryLibrary) -> None:
    for number in range(150):
        library.add_community(f"a{number}, b{number}, c{number}")
    asked = {"ontology": "nature", "token_budget": 1000}
    steps = list(walk(lambda given: answer(call(server, "list_communities", **given)), asked))
    names = [each["name"] for step in steps for each in step["communities"]]
    assert names == [each.name for each in library.all_communities]
    assert len(steps) > 2


def test_links_are_listed_with_both_texts(server: Server[Any], library: MemoryLibrary) -> None:
    one, other = library.add("nature", "bees.md", PARAGRAPHS)[0], library.add("nature", "b.md", PARAGRAPHS)[1]
    link = library.add_proposal(one, other)
    library.add_proposal(one, other, state="rejected")
    (found,) = answer(call(server, "list_proposed_links", ontology="nature"))["links"]
    assert found["ends"] == [
        {"citation": f"{one.source_id}#0-5", "text": "Bees ", "document": "bees.md"},
        {"citation": f"{other.source_id}#13-18", "text": "They ", "document": "b.md"},
    ]
    told = ("proposal_id", "ontology", "kind", "score", "reason")
    assert [found[name] for name in told] == [link.proposal_id, "nature", "source", 0.5432, "both say it"]


def test_links_are_listed_by_what_became_of_them(server: Server[Any], library: MemoryLibrary) -> None:
    one, other = library.add("nature", "bees.md", PARAGRAPHS)[:2]
    library.add_proposal(one, other, state="rejected")
    asked = {"state": "rejected", "kind": "source"}
    assert answer(call(server, "list_proposed_links", **asked))["total"] == 1
    assert answer(call(server, "list_proposed_links"))["links"] == []
    assert answer(call(server, "list_proposed_links", state="rejected", kind="concept"))["links"] == []
    assert "state" in failure(call(server, "list_proposed_links", state="done"))


def test_what_is_cited_of_a_link_can_be_read(server: Server[Any], library: MemoryLibrary) -> None:
    places = library.add("nature", "bees.md", PARAGRAPHS)
    library.add_proposal(places[0], places[3])
    (link,) = answer(call(server, "list_proposed_links"))["links"]
    for end in link["ends"]:
        read = answer(call(server, "get_source_context", citation=end["citation"]))
        assert read["quote"]["text"] == end["text"]
