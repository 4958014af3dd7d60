from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import neo4j
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_ontology, store_document
from kg_api.graph.folders import (
    delete_if_of_folder,
    enqueue_due,
    find_folder,
    list_folders,
    register,
    request_scan,
)
from kg_api.ingest.folders import FolderService, FolderSync
from kg_api.jobs.runner import JobRun
from kg_api.schemas.base import document_id
from kg_api.schemas.folders import NewFolder
from kg_api.schemas.vocabulary import JobState
from tests.conftest import wipe
from tests.support.records import record
from tests.support.sync import EVERYWHERE, LARGEST, READER, counts, documents, follow, put, scan, work

FILES = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    put(folder, **{f"note{number:02}": f"Note {number}.\n" for number in range(FILES)})
    return folder


def overdue(driver: neo4j.Driver) -> None:
    driver.execute_query("MATCH (f:Folder) SET f.due_at = datetime.realtime() - duration({seconds: 1})")


def try_now(driver: neo4j.Driver) -> None:
    driver.execute_query(
        "WITH datetime.realtime() AS now MATCH (j:Job) SET j.run_after = now, j.queued_at = now"
    )


def scans(driver: neo4j.Driver) -> int:
    return driver.execute_query("MATCH (j:Job {kind: 'folder_sync'}) RETURN count(j)").records[0].value()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/a/b", "/a/b"),
        ("/a/b", "/a/b/"),
        ("/a/b", "/a/b/c"),
        ("/a/b", "/a"),
        ("/a/b", "/"),
        ("/a", "//a/./b"),
    ],
)
def test_folders_of_one_ontology_do_not_overlap(graph: Graph, first: str, second: str) -> None:
    register(graph, NewFolder(path=first, ontology="notes"))
    with pytest.raises(Conflict, match=first):
        register(graph, NewFolder(path=second, ontology="notes"))
    register(graph, NewFolder(path=second, ontology="other"))
    assert len(list_folders(graph)) == 2


def test_sibling_folders_can_be_registered(graph: Graph) -> None:
    for path in ("/a/b", "/a/bc", "/a/c"):
        register(graph, NewFolder(path=path, ontology="notes"))
    assert [each.path for each in list_folders(graph)] == ["/a/b", "/a/bc", "/a/c"]


def test_one_of_concurrent_overlapping_folders_is_registered(graph: Graph) -> None:
    paths = ["/a", "/a/b", "/a/b/c", "/a/b/c/d"] * 2

    def one(path: str) -> bool:
        try:
            register(graph, NewFolder(path=path, ontology="notes"))
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(len(paths)) as pool:
        assert sum(pool.map(one, paths)) == 1
    assert len(list_folders(graph)) == 1


def test_a_new_folder_is_scanned_at_once(graph: Graph, folder: Path) -> None:
    followed = find_folder(graph, follow(graph, folder))
    assert (followed.state, followed.last_scan, followed.documents) == (JobState.QUEUED, None, 0)
    assert enqueue_due(graph) == 0
    assert work(graph) == 1


def test_folder_is_scanned_exactly_when_due(graph: Graph, folder: Path, driver: neo4j.Driver) -> None:
    followed = follow(graph, folder)
    work(graph)
    assert enqueue_due(graph) == 0
    overdue(driver)
    assert (enqueue_due(graph), enqueue_due(graph)) == (1, 0)
    assert work(graph) == 1
    assert counts(find_folder(graph, followed)) == {"unchanged": FILES}
    waited = find_folder(graph, followed)
    assert waited.last_scan is not None
    between = (waited.next_scan_at - waited.last_scan.finished_at).total_seconds()
    assert between == pytest.approx(waited.every_seconds, abs=1)


def test_many_schedulers_make_one_scan(graph: Graph, folder: Path, driver: neo4j.Driver) -> None:
    follow(graph, folder)
    work(graph)
    overdue(driver)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: enqueue_due(graph), range(16))) == 1
    assert scans(driver) == 1


def test_scans_do_not_pile_up(graph: Graph, folder: Path, driver: neo4j.Driver) -> None:
    followed = follow(graph, folder)
    for _ in range(3):
        overdue(driver)
        enqueue_due(graph)
        assert scans(driver) == 1, "one that waits is enough"
    work(graph)
    folder.rename(folder.with_name("away"))
    for _ in range(3):
        overdue(driver)
        assert enqueue_due(graph) == 1
        work(graph)
        assert scans(driver) == 1, "the last one alone is kept"
    assert find_folder(graph, followed).state is JobState.FAILED


def test_scan_requested_during_a_scan_follows_it(graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)
    asked = list[str]()

    class Asking(FolderSync):
        """Add a file and request another scan after the folder has been listed."""

        def _scan(self, run: JobRun, done: int) -> int:
            after = super()._scan(run, done)
            if not asked:
                put(folder, late="Late.\n")
                asked.append(request_scan(graph, followed))
            return after

    assert work(graph, handler=Asking(graph, EVERYWHERE, LARGEST, READER)) == 1
    after = find_folder(graph, followed)
    assert asked == [after.job_id]
    assert counts(after) == {"added": 1, "unchanged": FILES}
    assert (after.done, after.total) == (2 * FILES + 1, 2 * FILES + 1)


class Interrupted(Exception):
    """Unexpected error."""


def interrupt() -> None:
    raise Interrupted


def interrupting(graph: Graph, at: int, meanwhile: Callable[[], object] = interrupt) -> FolderSync:
    """Return a worker that calls a function before the commit with the given number."""

    class Interrupting(FolderSync):
        def run(self, run: JobRun) -> None:
            real, seen = run.commit, list[int]()

            def commit(*given: object, **named: object) -> None:
                seen.append(1)
                if len(seen) == at:
                    meanwhile()
                real(*given, **named)  # pyright: ignore[reportArgumentType]

            run.commit = commit  # pyright: ignore[reportAttributeAccessIssue]
            super().run(run)

    return Interrupting(graph, EVERYWHERE, LARGEST, READER)


@pytest.mark.parametrize("at", [1, 7, FILES + 2])
def test_interrupted_scan_resumes_at_its_position(
    graph: Graph, folder: Path, driver: neo4j.Driver, at: int
) -> None:
    put(folder, gone="Gone.\n")
    followed = follow(graph, folder)
    work(graph)
    (folder / "gone.md").unlink()
    put(folder, **{f"note{number:02}": f"Changed {number}.\n" for number in range(FILES)})
    request_scan(graph, followed)
    work(graph, handler=interrupting(graph, at))
    try_now(driver)
    assert find_folder(graph, followed).done == at - 1
    work(graph)
    after = find_folder(graph, followed)
    assert counts(after) == {"changed": FILES, "removed": 1}
    assert (after.done, after.total, after.state) == (FILES + 1, FILES + 1, JobState.SUCCEEDED)
    assert documents(graph) == {f"note{number:02}.md": f"Changed {number}.\n" for number in range(FILES)}


def test_folder_deletes_only_its_own_documents(graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)
    work(graph)
    identity = document_id("notes", "note00.md")
    assert not graph.transaction(lambda tx: delete_if_of_folder(tx, "another", identity))
    assert len(documents(graph)) == FILES
    assert graph.transaction(lambda tx: delete_if_of_folder(tx, followed, identity))
    assert len(documents(graph)) == FILES - 1


def test_folder_removed_during_a_scan_stores_nothing_more(graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)
    service = FolderService(graph, EVERYWHERE)

    def remove() -> None:
        assert service.remove(followed, delete_documents=True).deleted_documents == 5

    assert work(graph, handler=interrupting(graph, 6, remove)) == 1
    assert documents(graph) == {}
    assert list_folders(graph) == []


def test_running_scan_writes_nothing_during_folder_removal(graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)

    class Removing(FolderSync):
        def _scan(self, run: JobRun, done: int) -> int:
            graph.write("folders/begin_removal", folder_id=followed)
            return super()._scan(run, done)

    assert work(graph, handler=Removing(graph, EVERYWHERE, LARGEST, READER)) == 1
    assert documents(graph) == {}


def test_removal_keeps_documents_and_new_registration_resumes(graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)
    work(graph)
    removed = FolderService(graph, EVERYWHERE).remove(followed, delete_documents=False)
    assert (removed.kept_documents, removed.deleted_documents) == (FILES, 0)
    assert len(documents(graph)) == FILES
    assert follow(graph, folder) == followed
    (folder / "note00.md").unlink()
    assert counts(scan(graph, followed)) == {"removed": 1, "unchanged": FILES - 1}


def test_removed_folder_releases_its_document_names(graph: Graph, folder: Path, tmp_path: Path) -> None:
    followed = follow(graph, folder)
    work(graph)
    FolderService(graph, EVERYWHERE).remove(followed, delete_documents=False)
    put(tmp_path / "other", note00="Another.\n")
    other = follow(graph, tmp_path / "other")
    work(graph)
    assert counts(find_folder(graph, other)) == {"changed": 1}


def test_deleted_ontology_is_not_filled_again(graph: Graph, folder: Path, driver: neo4j.Driver) -> None:
    follow(graph, folder)
    work(graph)
    assert delete_ontology(graph, "notes").documents == FILES
    overdue(driver)
    assert (enqueue_due(graph), list_folders(graph), documents(graph)) == (0, [], {})


def test_unknown_folder_is_not_found(graph: Graph) -> None:
    with pytest.raises(NotFound, match="kg folders list"):
        request_scan(graph, "nosuch")
    with pytest.raises(NotFound, match="kg folders list"):
        FolderService(graph, EVERYWHERE).remove("nosuch", delete_documents=True)


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
def test_random_scans_match_documents_to_files(
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
