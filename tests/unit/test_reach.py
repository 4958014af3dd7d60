"""What a request may see goes with it, into every thread that handles it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import pytest

from kg_api.errors import Forbidden
from kg_api.graph import reach as module
from kg_api.graph.reach import looked_into, reach, reaches, reaching, require, within

ROOT = Path(__file__).parents[2] / "kg_api"
SERVING = ("access", "concepts", "discovery", "mcp", "search", "web")
"""Packages that handle requests and look names up."""
WORKERS = {"concepts/merging.py"}
"""What nobody asks for over REST."""


def test_all_is_seen_where_nothing_is_said() -> None:
    assert reach() is None
    assert reaches("any")
    assert reaches(None)
    assert within(None) is None
    assert within("any") == ["any"]
    require("any")


def test_service_thread_that_lost_its_request_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_needs_caller", True)
    with reaching(None), ThreadPoolExecutor(1) as pool:
        assert reach() is None
        assert pool.submit(copy_context().run, reach).result() is None
        with pytest.raises(RuntimeError, match="for whom"):
            pool.submit(reaches, "any").result()


def test_some_are_seen_and_others_are_refused() -> None:
    with reaching(["b", "a"]):
        assert reach() == ["a", "b"]
        assert (reaches("a"), reaches("c"), reaches(None)) == (True, False, False)
        assert within(None) == ["a", "b"]
        assert looked_into(["b"]) == ["b"]
        for refused in (lambda: within("c"), lambda: looked_into(["a", "c"]), lambda: require("c")):
            with pytest.raises(Forbidden, match="this key is for 'a', 'b' alone, and not for 'c'"):
                refused()
    assert reach() is None


def test_a_thread_sees_what_its_request_does() -> None:
    with ThreadPoolExecutor(1) as pool, reaching(["a"]):
        assert pool.submit(copy_context().run, reach).result() == ["a"]


@pytest.mark.parametrize("package", SERVING)
def test_pools_are_given_the_context(package: str) -> None:
    """Without it a thread would see all."""
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
