"""Whatever happens to a folder, a scan makes its documents what its files are."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.conftest import wipe
from tests.support.records import record
from tests.support.sync import counts, documents, follow, scan, work

NAMES = st.sampled_from(["a.md", "b.md", "sub/a.md", "sub/deep/c.md"])
TEXTS = st.sampled_from(["One.\n", "Two.\n", "Three words here.\n", "", "\x00"])
BROKEN = {"", "\x00"}
STEP = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("remove"), NAMES, st.just("")),
    st.tuples(st.just("by hand"), NAMES, st.just("By hand.")),
    st.tuples(st.just("scan"), st.just(""), st.just("")),
)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """A new folder for each example."""
    return (tmp_path / f"example{number}" for number in itertools.count())  # pyright: ignore[reportReturnType]


def act(graph: Graph, folder: Path, step: tuple[str, str, str]) -> None:
    what, name, text = step
    path = folder / name
    if what == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    elif what == "remove":
        path.unlink(missing_ok=True)
    elif what == "by hand":
        store_document(graph, record(name, [text]))


@settings(
    max_examples=settings().max_examples // 3,  # each scans up to nine times
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(STEP, max_size=8))
def test_documents_are_what_files_are(
    graph: Graph, driver: object, folders: Iterator[Path], steps: list[tuple[str, str, str]]
) -> None:
    wipe(driver)  # pyright: ignore[reportArgumentType]
    folder = next(folders)
    folder.mkdir()
    followed = follow(graph, folder)
    work(graph)
    kept = dict[str, str]()
    for step in [*steps, ("scan", "", "")]:
        act(graph, folder, step)
        if step[0] != "scan":
            continue
        before = documents(graph)
        after = scan(graph, followed, allow_empty=True)
        files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}
        good = {name: text for name, text in files.items() if text not in BROKEN}
        left_out = {name for name, text in files.items() if not text and name not in kept}
        now = documents(graph)
        assert {name: now[name] for name in good} == good
        assert {name: now.get(name) for name in files.keys() - good} == {
            name: before.get(name) for name in files.keys() - good
        }, "what a broken file was before stays"
        told = counts(after)
        assert told.get("refused", 0) == len(files) - len(good) - len(left_out)
        assert told.get("added", 0) == len(good.keys() - before)
        assert told.get("removed", 0) == len(before.keys() - now)
        assert before.keys() - now <= kept.keys() - files.keys(), "only what came from the folder goes"
        assert sum(told.values()) == len(files) - len(left_out) + told.get("removed", 0)
        kept = {**{name: kept[name] for name in kept.keys() & now}, **good}
    shutil.rmtree(folder)
