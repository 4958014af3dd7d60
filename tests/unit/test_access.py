"""What keys look like, and how long what is known of them is believed."""

from __future__ import annotations

import pytest

from kg_api.access.keys import (
    ANYONE,
    GOOD_SECONDS,
    LOCAL,
    Access,
    KeyCheck,
    is_proof,
    make_proof,
    make_token,
    parse_token,
    proves,
)
from kg_api.errors import Unavailable
from kg_api.graph.client import Graph
from kg_api.schemas.operations import key_id_in, without_secrets

NOW = 1_790_000_000.5


def test_a_token_is_known_by_its_hash_alone() -> None:
    token = make_token()
    assert parse_token(token.text) == token
    assert token.has_hash(token.secret_hash)
    assert not make_token().has_hash(token.secret_hash)
    assert token.text not in repr(token)
    assert len({make_token().text for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "text",
    [
        *("", "kg", "kg_0123abcd", "kg_0123abcd_short", "kg_0123ABCD_" + "a" * 43, "kg_0123abcd_" + "a" * 44),
        *("kg_0123abcd_" + "a" * 42 + "\n", " kg_0123abcd_" + "a" * 43, "sk_0123abcd_" + "a" * 43),
    ],
)
def test_what_has_not_the_form_is_no_token(text: str) -> None:
    assert parse_token(text) is None
    assert not is_proof(text)
    assert not proves(text, "key", NOW, "GET", "/")


@pytest.mark.parametrize(("later", "good"), [(0, True), (59, True), (-59, True), (62, False), (-62, False)])
def test_a_proof_of_a_home_is_good_for_a_minute(later: float, *, good: bool) -> None:
    proof = make_proof("key", NOW, "GET", "/jobs")
    assert is_proof(proof)
    assert proves(proof, "key", NOW + later, "GET", "/jobs") is good
    assert not proves(proof, "other", NOW, "GET", "/jobs")
    assert not proves(proof, None, NOW, "GET", "/jobs")
    assert not proves(proof, "key", NOW, "POST", "/jobs")
    assert not proves(proof, "key", NOW, "GET", "/keys")
    moved = proof.replace(str(int(NOW)), str(int(NOW) + GOOD_SECONDS))
    assert not proves(moved, "key", NOW, "GET", "/jobs"), "another moment needs another proof"


def test_scopes_include_those_below() -> None:
    reader, writer = Access("a", "read"), Access("b", "write")
    assert [reader.allows("read"), reader.allows("write"), reader.allows("admin")] == [True, False, False]
    assert [writer.allows("read"), writer.allows("write"), writer.allows("admin")] == [True, True, False]
    assert all(each.allows("admin") for each in (LOCAL, ANYONE))


def _no_graph() -> Graph:
    raise Unavailable("not ready yet: the service to open database and model")


def test_without_a_database_nobody_is_taken_for_anybody() -> None:
    check, token = KeyCheck(_no_graph), make_token()
    assert check.known(token) is None
    with pytest.raises(Unavailable, match="not ready yet"):
        check.look_up(token)


@pytest.mark.parametrize(
    ("called", "meant"),
    [
        ("ada", "ada"),
        ("0123abcd", "0123abcd"),
        ("kg_0123abcd", "0123abcd"),
        ("kg_0123abcd_" + "s" * 43, "0123abcd"),
        ("kg_0123abcd_cut", "0123abcd"),
        ("kg_notes", "kg_notes"),
    ],
)
def test_a_key_is_called_by_its_id_whatever_is_given_of_it(called: str, meant: str) -> None:
    assert key_id_in(called) == meant
    assert "sss" not in without_secrets(f"/keys/{called}/revoke")
