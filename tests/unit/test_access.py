import ast
import os
import string
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr

from kg_api.access.keys import ANYONE, LOCAL, Access, KeyCheck, find_key, make_token, parse_token
from kg_api.access.proofs import GOOD_SECONDS, is_proof, make_proof, verify_proof
from kg_api.errors import Conflict, Forbidden, Unavailable
from kg_api.graph import reach as module
from kg_api.graph.client import Graph
from kg_api.graph.reach import (
    get_visible_ontologies,
    is_visible,
    limit_visible_ontologies,
    require_visible,
    resolve_ontologies,
    resolve_ontology,
)
from kg_api.providers.retrying import Limiter, RetryableError
from kg_api.schemas.operations import ApiKey, extract_key_id, redact_keys
from kg_api.schemas.vocabulary import KeyState
from kg_api.sections import OpenAISettings
from tests.unit.test_retrying import Time

NOW = 1_790_000_000.5


def test_token_is_stored_as_a_hash() -> None:
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
def test_malformed_token_is_rejected(text: str) -> None:
    assert parse_token(text) is None
    assert not is_proof(text)
    assert not verify_proof(text, "key", NOW, "GET", "/")


@pytest.mark.parametrize(("later", "good"), [(0, True), (59, True), (-59, True), (62, False), (-62, False)])
def test_home_proof_is_valid_for_a_minute(later: float, *, good: bool) -> None:
    proof = make_proof("key", NOW, "GET", "/jobs")
    assert is_proof(proof)
    assert verify_proof(proof, "key", NOW + later, "GET", "/jobs") is good
    assert not verify_proof(proof, "other", NOW, "GET", "/jobs")
    assert not verify_proof(proof, None, NOW, "GET", "/jobs")
    assert not verify_proof(proof, "key", NOW, "POST", "/jobs")
    assert not verify_proof(proof, "key", NOW, "GET", "/keys")
    moved = proof.replace(str(int(NOW)), str(int(NOW) + GOOD_SECONDS))
    assert not verify_proof(moved, "key", NOW, "GET", "/jobs"), "another moment needs another proof"


def test_scopes_include_those_below() -> None:
    reader, writer = Access("a", "read"), Access("b", "write")
    assert [reader.allows("read"), reader.allows("write"), reader.allows("admin")] == [True, False, False]
    assert [writer.allows("read"), writer.allows("write"), writer.allows("admin")] == [True, True, False]
    assert all(each.allows("admin") for each in (LOCAL, ANYONE))


def _no_graph() -> Graph:
    raise Unavailable("not ready yet: the service to open database and model")


def test_without_database_no_key_is_accepted() -> None:
    check, token = KeyCheck(_no_graph), make_token()
    assert check.get_cached(token) is None
    with pytest.raises(Unavailable, match="not ready yet"):
        check.look_up(token)


@pytest.mark.parametrize(
    ("called", "meant"),
    [
        ("ada", "ada"),
        *((called, "0123abcd") for called in ("0123abcd", "kg_0123abcd", "kg_0123abcd_" + "s" * 43)),
        ("kg_0123abcd_cut", "0123abcd"),
        ("kg_notes", "kg_notes"),
    ],
)
def test_key_id_is_extracted_from_any_form(called: str, meant: str) -> None:
    assert extract_key_id(called) == meant
    assert "sss" not in redact_keys(f"/keys/{called}/revoke")


@given(st.text(string.ascii_letters + string.digits + "-_", min_size=20, max_size=160))
@example("a1Your-b2_xxx-c3Example_" * 6)
@example("xxxA-placeholder0_changeme1")
def test_real_key_is_not_a_placeholder(rest: str) -> None:
    """One in 220 random keys contains `xxx` or `your`."""
    key = SecretStr(f"sk-proj-{rest}A7")
    assert OpenAISettings(api_key=key).api_key == key


class Threads:
    """Return a limiter that has its own clock."""

    def __init__(self, most: int = 8) -> None:
        self.time = Time()
        self.limiter = Limiter(most, sleep=self.time.sleep, clock=self.time.clock)

    def refuse(self, retry_after: float | None = None, *, is_limit: bool = True) -> None:
        with suppress(RetryableError), self.limiter.slot():
            raise RetryableError("no", retry_after, is_limit=is_limit)

    def wait(self) -> float:
        """Return the number of seconds until you can send the next request."""
        before = self.time.now
        with self.limiter.slot():
            return self.time.now - before


@pytest.mark.parametrize(("asked", "seconds"), [(7, 7), (None, 1), (0, 0), (61, 0)])
def test_rate_limit_delays_every_thread(asked: float | None, seconds: float) -> None:
    """If a provider tells kg to wait for more than a minute, the job waits."""
    threads = Threads()
    threads.refuse(asked)
    assert threads.wait() == pytest.approx(seconds)


def test_longest_rate_limit_counts() -> None:
    threads = Threads()
    with suppress(RetryableError), threads.limiter.slot():
        threads.refuse(7)
        raise RetryableError("no", 2)
    assert threads.wait() == pytest.approx(7)


def test_server_failure_delays_no_thread() -> None:
    threads = Threads()
    threads.refuse(is_limit=False)
    assert threads.wait() == 0


def test_limiter_bounds_requests_in_flight() -> None:
    threads = Threads(most=2)
    free = threading.Event()

    def request() -> None:
        with threads.limiter.slot():
            free.set()

    with threads.limiter.slot(), threads.limiter.slot():
        third = threading.Thread(target=request)
        third.start()
        assert not free.wait(0.1)
    third.join(5)
    assert free.is_set()


ROOT = Path(__file__).parents[2] / "kg_api"
SERVING = ("access", "concepts", "discovery", "mcp", "search", "web")
"""Packages that handle requests and use names to find data."""
WORKERS = {"concepts/merging.py"}


def test_service_thread_that_lost_its_request_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_needs_caller", True)
    with limit_visible_ontologies(None), ThreadPoolExecutor(1) as pool:
        assert get_visible_ontologies() is None
        assert pool.submit(copy_context().run, get_visible_ontologies).result() is None
        with pytest.raises(RuntimeError, match="visible ontologies are not set"):
            pool.submit(is_visible, "any").result()


def test_visible_ontologies_are_enforced() -> None:
    with limit_visible_ontologies(["b", "a"]):
        assert get_visible_ontologies() == ["a", "b"]
        assert (is_visible("a"), is_visible("c"), is_visible(None)) == (True, False, False)
        assert resolve_ontology(None) == ["a", "b"]
        assert resolve_ontologies(["b"]) == ["b"]
        for refused in (
            lambda: resolve_ontology("c"),
            lambda: resolve_ontologies(["a", "c"]),
            lambda: require_visible("c"),
        ):
            with pytest.raises(Forbidden, match="this key is limited to 'a', 'b' and cannot see 'c'"):
                refused()
    assert get_visible_ontologies() is None


@pytest.mark.parametrize("package", SERVING)
def test_thread_pools_receive_the_context(package: str) -> None:
    """Without this, a thread would be able to see everything."""
    assert [each for each in _uncarried(package) if each.partition(":")[0] not in WORKERS] == []


def _uncarried(package: str) -> Iterator[str]:
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_pool(node.func):
                carried = node.args and ast.unparse(node.args[0]) == "copy_context().run"
                if node.func.attr == "map" or not carried:
                    yield f"{path.relative_to(ROOT)}: {ast.unparse(node)}"


def _is_pool(called: ast.Attribute) -> bool:
    return called.attr in {"submit", "map"} and "pool" in ast.unparse(called.value).lower()


def test_command_proves_its_home_without_the_database_driver(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from kg_api.settings import load_settings\n"
        "from kg_cli.terminal.connect import find_api_key\n"
        "find_api_key('http://127.0.0.1:1', load_settings())\n"
        "sys.exit('neo4j' in sys.modules)"
    )
    environment = {**os.environ, "KG_HOME": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


@pytest.mark.parametrize("states", [("revoked", "active"), ("active", "expired"), ("revoked", "expired")])
def test_name_of_several_keys_means_the_usable_one(states: tuple[KeyState, ...]) -> None:
    about = {"name": "ada", "scope": "read", "created_at": "2026-01-01T00:00:00Z", "created_by": "local"}
    keys = [ApiKey.model_validate({**about, "key_id": state, "state": state}) for state in states]
    if "active" in states:
        assert find_key(keys, "ada").state == "active"
        return
    with pytest.raises(Conflict, match="2 keys have the name 'ada'"):
        find_key(keys, "ada")
