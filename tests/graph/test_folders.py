import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import neo4j
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg_api.blobs.images import ImageKeeper, StoredFiles
from kg_api.blobs.store import FileBlobStore
from kg_api.container import Container
from kg_api.convert.isolated.pool import ConverterPool
from kg_api.convert.shared import ocr
from kg_api.errors import Conflict, KgError
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.document_writes import delete_document, delete_ontology, store_document
from kg_api.graph.documents import change_document
from kg_api.graph.folders import enqueue_due, find_folder, list_folders, register, request_scan
from kg_api.graph.jobs import find_job
from kg_api.graph.library import find_document
from kg_api.graph.review import list_waiting
from kg_api.ingest import folders
from kg_api.ingest.folder_listing import UnsettledFile
from kg_api.ingest.folders import FolderService, FolderSync
from kg_api.ingest.reader import DocumentReader
from kg_api.ingest.records import Incoming, to_record
from kg_api.ingest.service import ReviewService
from kg_api.jobs.runner import JobRun
from kg_api.schemas.base import build_document_id
from kg_api.schemas.documents import Approval, DocumentChange
from kg_api.schemas.folders import SCAN_KIND, Folder, NewFolder
from kg_api.schemas.vocabulary import JobState
from kg_api.sections import SyncSettings
from kg_api.settings import load_settings
from tests.conftest import wipe
from tests.support.colour_grid import open_image_spaces
from tests.support.embedding import open_spaces
from tests.support.images import drawn, encoded
from tests.support.pictures import pictured
from tests.support.records import record
from tests.support.sync import EVERYWHERE, LARGEST, READER, counts, documents, follow, put, scan, settle, work

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


def test_scans_do_not_pile_up(graph: Graph, folder: Path, driver: neo4j.Driver) -> None:
    followed = follow(graph, folder)
    for _ in range(3):
        overdue(driver)
        assert enqueue_due(graph) == 0
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


def test_folder_removed_during_a_scan_stores_nothing_more(graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)
    service = FolderService(graph, EVERYWHERE)

    def remove() -> None:
        assert service.remove(followed, delete_documents=True).deleted_documents == 5

    assert work(graph, handler=interrupting(graph, 6, remove)) == 1
    assert documents(graph) == {}
    assert list_folders(graph) == []


def test_removal_keeps_documents_and_new_registration_resumes(graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)
    work(graph)
    removed = FolderService(graph, EVERYWHERE).remove(followed, delete_documents=False)
    assert (removed.kept_documents, removed.deleted_documents) == (FILES, 0)
    assert len(documents(graph)) == FILES
    assert follow(graph, folder) == followed
    (folder / "note00.md").unlink()
    assert counts(scan(graph, followed)) == {"removed": 1, "unchanged": FILES - 1}


@pytest.mark.parametrize("delete", [True, False])
def test_removal_treats_pending_documents_like_others(graph: Graph, folder: Path, *, delete: bool) -> None:
    followed = register(graph, NewFolder(path=str(folder), ontology="notes", review=True))
    work(graph)
    FolderService(graph, EVERYWHERE).remove(followed, delete_documents=delete)
    assert list_waiting(graph, ontology="notes", offset=0, limit=9).total == (0 if delete else FILES)


def test_deleted_ontology_is_not_filled_again(graph: Graph, folder: Path, driver: neo4j.Driver) -> None:
    follow(graph, folder)
    work(graph)
    deleted = delete_ontology(graph, "notes")
    assert (deleted.documents, deleted.notes) == (
        FILES,
        ["kg no longer syncs 1 folder to 'notes'. The files stay"],
    )
    overdue(driver)
    assert (enqueue_due(graph), list_folders(graph), documents(graph)) == (0, [], {})


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
def examples(tmp_path: Path) -> Iterator[Path]:
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
    graph: Graph, driver: object, examples: Iterator[Path], steps: list[tuple[str, str, str]]
) -> None:
    wipe(driver)  # pyright: ignore[reportArgumentType]
    folder = next(examples)
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


T = TypeVar("T")


@pytest.fixture
def two_notes(tmp_path: Path) -> Path:
    two_notes = tmp_path / "notes"
    put(two_notes, one="# One\n\nFirst.\n", below__two="Second.\n")
    return two_notes


@pytest.fixture
def followed(graph: Graph, two_notes: Path) -> str:
    followed = follow(graph, two_notes)
    work(graph)
    return followed


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen = list[str]()

    def seeing(name: str) -> None:
        real: Callable[..., Any] = getattr(folders, name)

        def call(*given: Any) -> Any:
            seen.append(name)
            return real(*given)

        monkeypatch.setattr(folders, name, call)

    seeing("read_settled")
    seeing("to_record")
    return seen


def state(graph: Graph, two_notes: Folder) -> JobState:
    assert two_notes.job_id is not None
    return find_job(graph, two_notes.job_id).state


def test_file_with_unchanged_stat_is_not_read(
    graph: Graph, followed: str, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    scan(graph, followed)
    assert calls == ["read_settled"] * 2, "they were too young for their looks to be trusted"
    calls.clear()
    assert counts(scan(graph, followed)) == {"unchanged": 2}
    assert calls == []


def test_file_with_unchanged_content_is_not_parsed(
    graph: Graph, two_notes: Path, followed: str, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    scan(graph, followed)
    calls.clear()
    os.utime(two_notes / "one.md", (1, 1))
    settle(monkeypatch)
    assert counts(scan(graph, followed)) == {"unchanged": 2}
    assert calls == ["read_settled"]
    scan(graph, followed)
    assert calls == ["read_settled"], "how it looks now is remembered"


def test_file_lost_during_its_scan_is_read_at_the_next(
    graph: Graph,
    two_notes: Path,
    followed: str,
    calls: list[str],
    *,
    driver: neo4j.Driver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle(monkeypatch)
    scan(graph, followed)
    os.utime(two_notes / "one.md", (1, 1))

    def lose() -> None:
        driver.execute_query("MATCH (d:Document) SET d.file_stamp = null, d.file_hash = null")

    request_scan(graph, followed)
    assert work(graph, handler=interrupting(graph, 1, lose)) == 1
    calls.clear()
    assert counts(scan(graph, followed)) == {"unchanged": 2}
    assert calls.count("to_record") == 2


@pytest.mark.parametrize("review", [False, True])
def test_document_created_during_a_scan_is_kept(graph: Graph, two_notes: Path, *, review: bool) -> None:
    followed = register(graph, NewFolder(path=str(two_notes), ontology="notes", review=review))
    work(graph)
    (two_notes / "one.md").unlink()
    request_scan(graph, followed)
    sent = to_record(Incoming("notes", "one.md", "By hand.", review=review))[0]

    def send() -> None:
        if not review:
            delete_document(graph, sent.document_id)
        store_document(graph, sent)

    assert work(graph, handler=interrupting(graph, 2, send)) == 1
    names = [each.document for each in list_waiting(graph, ontology=None, offset=0, limit=9).documents]
    assert "one.md" in (names if review else documents(graph))


def test_deleted_or_replaced_document_returns_while_its_file_exists(
    graph: Graph, followed: str, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    scan(graph, followed)
    driver.execute_query("MATCH (d:Document {document: 'one.md'})<--(s:Source) DETACH DELETE d, s")
    assert counts(scan(graph, followed)) == {"added": 1, "unchanged": 1}
    store_document(graph, record("one.md", ["By hand."]))
    assert counts(scan(graph, followed)) == {"changed": 1, "unchanged": 1}
    assert documents(graph)["one.md"] == "# One\n\nFirst.\n"


def test_renamed_folder_keeps_edits_of_its_documents(graph: Graph, two_notes: Path, followed: str) -> None:
    put(two_notes, below__twin="# Two\n\nSecond.\n", below__two="# Two\n\nSecond.\n")
    scan(graph, followed)
    for name in ("two", "twin"):
        change = DocumentChange(title=f"My {name}", metadata={"tag": name})
        change_document(graph, build_document_id("notes", f"below/{name}.md"), change)
    (two_notes / "below").rename(two_notes / "moved")
    assert counts(scan(graph, followed)) == {"added": 2, "removed": 2, "unchanged": 1}
    for name in ("two", "twin"):
        moved = find_document(graph, build_document_id("notes", f"moved/{name}.md"))
        assert (moved.title, moved.metadata["tag"]) == (f"My {name}", name)
    put(two_notes, moved__two="# Two\n\nSecond, changed.\n")
    scan(graph, followed)
    assert find_document(graph, build_document_id("notes", "moved/two.md")).title == "My two"


@pytest.fixture
def review(graph: Graph) -> ReviewService:
    return ReviewService(graph, lambda _tx, _ontology, _sources: None)


def test_renamed_approved_file_stays_approved(graph: Graph, two_notes: Path, review: ReviewService) -> None:
    followed = register(graph, NewFolder(path=str(two_notes), ontology="notes", review=True))
    work(graph)
    review.approve(Approval(ontology="notes", documents=["one.md"]))
    (two_notes / "one.md").rename(two_notes / "first.md")
    (two_notes / "below" / "two.md").rename(two_notes / "second.md")  # not approved
    assert counts(scan(graph, followed)) == {"added": 1, "waiting": 1, "removed": 1}
    assert documents(graph) == {"first.md": "# One\n\nFirst.\n"}
    (two_notes / "first.md").rename(two_notes / "first.txt")  # another format can have another text
    put(two_notes, second="# One\n\nFirst, changed.\n")
    assert counts(scan(graph, followed)) == {"waiting": 2, "removed": 1}
    assert documents(graph) == {}


def test_reviewed_rename_keeps_edits(graph: Graph, two_notes: Path, review: ReviewService) -> None:
    followed = register(graph, NewFolder(path=str(two_notes), ontology="notes", review=True))
    work(graph)
    review.approve(Approval(ontology="notes", all=True))
    change = DocumentChange(title="My two", metadata={"tag": "kept"})
    change_document(graph, build_document_id("notes", "below/two.md"), change)
    (two_notes / "below" / "two.md").rename(two_notes / "moved.md")
    assert counts(scan(graph, followed)) == {"unchanged": 1, "removed": 1, "added": 1}
    put(two_notes, moved="# Two\n\nSecond, edited.\n")
    assert counts(scan(graph, followed)) == {"unchanged": 1, "waiting": 1}
    (two_notes / "moved.md").rename(two_notes / "moving.md")  # while it waits
    scan(graph, followed)
    put(two_notes, moving="# Two\n\nSecond, changed.\n")
    scan(graph, followed)
    (two_notes / "moving.md").rename(two_notes / "moved.md")
    scan(graph, followed)
    for text in ("changed", "changed again"):
        review.approve(Approval(ontology="notes", all=True))
        moved = find_document(graph, build_document_id("notes", "moved.md"))
        assert (moved.title, moved.metadata["tag"]) == ("My two", "kept")
        put(two_notes, moved=f"# Two\n\nSecond, {text}.\n")
        scan(graph, followed)
    (two_notes / "moved.md").rename(two_notes / "last.md")  # while its new text waits
    scan(graph, followed)
    review.approve(Approval(ontology="notes", all=True))
    assert find_document(graph, build_document_id("notes", "last.md")).title == "My two"


def test_document_of_another_folder_is_rejected(graph: Graph, followed: str, tmp_path: Path) -> None:
    put(tmp_path / "papers", one="Another one.\n", three="Third.\n")
    other = follow(graph, tmp_path / "papers")
    work(graph)
    after = find_folder(graph, other)
    assert counts(after) == {"added": 1, "refused": 1}
    assert after.last_scan is not None
    assert "--prefix" in after.last_scan.refusals[0].reason
    assert str(tmp_path / "notes") in after.last_scan.refusals[0].reason
    assert documents(graph)["one.md"] == "# One\n\nFirst.\n"
    assert counts(scan(graph, followed)) == {"unchanged": 2}


def test_prefix_separates_two_folders(graph: Graph, followed: str, tmp_path: Path) -> None:
    put(tmp_path / "papers", one="Another one.\n", three="Third.\n")
    other = follow(graph, tmp_path / "papers", prefix="papers/")
    work(graph)
    assert sorted(documents(graph)) == ["below/two.md", "one.md", "papers/one.md", "papers/three.md"]
    (tmp_path / "papers" / "one.md").unlink()
    assert counts(scan(graph, other)) == {"removed": 1, "unchanged": 1}
    assert counts(scan(graph, followed)) == {"unchanged": 2}


class Twice(Graph):
    """Database that loses the response to each commit, so that each transaction has to be run twice."""

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        super().transaction(work)
        return super().transaction(work)


def test_lost_answers_count_nothing_twice(graph: Graph, two_notes: Path, followed: str) -> None:
    put(two_notes, one="# One\n\nChanged.\n", three="Third.\n", broken="\x00")
    (two_notes / "below" / "two.md").unlink()
    request_scan(graph, followed)
    twice = Twice.__new__(Twice)
    twice.__dict__.update(graph.__dict__)
    work(twice, handler=FolderSync(twice, EVERYWHERE, LARGEST, READER))
    after = find_folder(graph, followed)
    assert counts(after) == {"added": 1, "changed": 1, "removed": 1, "refused": 1}
    assert (after.done, after.total) == (4, 4)
    assert sorted(documents(graph)) == ["one.md", "three.md"]


def test_scanned_pages_are_read_once_ocr_exists(
    graph: Graph, two_notes: Path, monkeypatch: pytest.MonkeyPatch, calls: list[str]
) -> None:
    """If there is no OCR, kg rejects a PDF that only has images, and skips half of another one. The files
    do not change."""
    (two_notes / "scanned.pdf").write_bytes(pictured(["Blueberries need acid soil."]))
    (two_notes / "half.pdf").write_bytes(pictured(["Cherries split."], ["Apricots ripen."], text_pages=[1]))
    settle(monkeypatch)
    followed = follow(graph, two_notes)
    with monkeypatch.context() as without:
        without.setattr(ocr, "find_spec", lambda _: None)
        assert counts(scan(graph, followed)) == {"added": 3, "refused": 1}
        calls.clear()
        assert counts(scan(graph, followed)) == {"unchanged": 3, "refused": 1}
        assert calls == [], "nothing is another than it was"
    assert counts(scan(graph, followed)) == {"added": 1, "changed": 1, "unchanged": 2}
    assert "Blueberries" in documents(graph)["scanned.pdf"]
    assert "Apricots" in documents(graph)["half.pdf"]
    calls.clear()
    assert counts(scan(graph, followed)) == {"unchanged": 4}
    assert calls == []


def test_missing_folder_removes_nothing_and_is_reported(graph: Graph, two_notes: Path, followed: str) -> None:
    two_notes.rename(two_notes.with_name("away"))
    after = scan(graph, followed)
    assert state(graph, after) is JobState.FAILED
    assert (after.error or "").startswith(f"folder {two_notes} not found on the machine of the worker")
    assert "Nothing was deleted" in (after.error or "")
    assert after.documents == 2
    request_scan(graph, followed)
    waiting = find_folder(graph, followed)
    assert (waiting.state, waiting.error) == (JobState.QUEUED, after.error), "reported until the next scan"
    two_notes.with_name("away").rename(two_notes)
    back = scan(graph, followed)
    assert (back.error, counts(back)) == (None, {"unchanged": 2})


def test_emptied_folder_needs_confirmation_to_remove_documents(
    graph: Graph, two_notes: Path, followed: str
) -> None:
    (two_notes / "one.md").unlink()
    (two_notes / "below" / "two.md").unlink()
    (two_notes / "NOT MOUNTED").touch()
    after = scan(graph, followed)
    assert state(graph, after) is JobState.FAILED
    assert "--allow-empty" in (after.error or "")
    assert len(documents(graph)) == 2
    cleared = scan(graph, followed, allow_empty=True)
    assert (counts(cleared), cleared.error, documents(graph)) == ({"removed": 2}, None, {})
    assert state(graph, scan(graph, followed)) is JobState.SUCCEEDED, "there is nothing left to lose"


def test_absent_mount_removes_no_document(
    graph: Graph, two_notes: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, below = str(two_notes.parent), str(two_notes / "below")
    mounts = {root: "1", below: "2"}
    monkeypatch.setattr(folders, "read_mounts", lambda _: dict(mounts))
    scan(graph, followed)
    (two_notes / "below" / "two.md").unlink()
    del mounts[below]
    for _ in range(2):
        after = scan(graph, followed)
        assert after.last_scan is not None
        assert f"kg folders scan {followed} --allow-empty" in after.last_scan.refusals[0].reason
        assert sorted(documents(graph)) == ["below/two.md", "one.md"], "in each scan until it is confirmed"
    scan(graph, followed, allow_empty=True)
    assert sorted(documents(graph)) == ["one.md"]
    assert scan(graph, followed).error is None


def test_file_that_returns_during_a_scan_is_postponed(
    graph: Graph, two_notes: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (two_notes / "one.md").unlink()
    monkeypatch.setattr(folders.FolderListing, "is_deleted", lambda *_: False)
    assert counts(scan(graph, followed)) == {"unchanged": 1, "postponed": 1}
    assert sorted(documents(graph)) == ["below/two.md", "one.md"]


def test_scan_resumed_while_it_deletes_counts_each_name_once(
    graph: Graph, folder: Path, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed = follow(graph, folder)
    work(graph)
    for number in range(FILES - 1):
        (folder / f"note{number:02}.md").unlink()
    monkeypatch.setattr(folders.FolderListing, "is_deleted", lambda _, name: name != "note00.md")
    request_scan(graph, followed)
    work(graph, handler=interrupting(graph, 3))  # one commit for files, one for the first ten names
    try_now(driver)
    work(graph)
    after = find_folder(graph, followed)
    assert counts(after) == {"unchanged": 1, "removed": FILES - 2, "postponed": 1}
    assert (after.done, after.total) == (FILES, FILES)


@pytest.mark.parametrize("review", [False, True])
def test_swapped_files_are_no_duplicates(graph: Graph, tmp_path: Path, review: bool) -> None:
    folder = tmp_path / "notes"
    put(folder, one="First.\n", two="Second.\n", other="Third.\n")
    followed = register(graph, NewFolder(path=str(folder), ontology="notes", review=review))
    work(graph)
    ReviewService(graph, lambda _tx, _ontology, _sources: None).approve(Approval(ontology="notes", all=True))
    put(folder, one="Second.\n", two="First.\n", copy="Third.\n", early="First.\n")
    after = scan(graph, followed).last_scan
    assert after is not None
    found = [(each.document, each.duplicate_of) for each in after.duplicate_files]
    expected = [("copy.md", "other.md"), ("two.md", "early.md")]
    if review:
        expected.pop()  # kg compares with stored documents, and early.md waits
    assert (after.duplicates, found) == (len(expected), expected)


def test_file_replaced_by_a_folder_loses_its_document(graph: Graph, two_notes: Path, followed: str) -> None:
    (two_notes / "one.md").unlink()
    put(two_notes, **{"one.md__inner": "Inner.\n"})
    assert counts(scan(graph, followed)) == {"added": 1, "unchanged": 1, "removed": 1}
    assert sorted(documents(graph)) == ["below/two.md", "one.md/inner.md"]


def test_file_that_loses_its_text_is_reported(graph: Graph, two_notes: Path, followed: str) -> None:
    notice = two_notes / "NOTICE"
    notice.write_text("Notice.\n", encoding="utf-8")
    assert counts(scan(graph, followed)) == {"added": 1, "unchanged": 2}
    notice.write_bytes(b"\x00\x01")
    for _ in range(2):
        after = scan(graph, followed)
        assert counts(after) == {"unchanged": 2, "refused": 1}
        assert after.last_scan is not None
        assert [each.document for each in after.last_scan.refusals] == ["NOTICE"]
    assert documents(graph)["NOTICE"] == "Notice.\n"
    notice.write_text("Again.\n", encoding="utf-8")
    assert counts(scan(graph, followed)) == {"changed": 1, "unchanged": 2}


def test_folder_replaced_during_a_scan_removes_nothing(
    graph: Graph, two_notes: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is what happens if a drive is mounted or unmounted during a scan."""
    real = folders.list_folder

    def replaced_after(*given: Any, **more: Any) -> Any:
        (two_notes / "below" / "two.md").unlink()
        listing = real(*given, **more)
        two_notes.rename(two_notes.with_name("away"))
        put(two_notes, one="# One\n\nFirst.\n")
        return listing

    monkeypatch.setattr(folders, "list_folder", replaced_after)
    after = scan(graph, followed)
    assert "changed during the scan" in (after.error or "")
    assert sorted(documents(graph)) == ["below/two.md", "one.md"]


def test_rejected_file_is_read_once_but_always_reported(
    graph: Graph, two_notes: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(two_notes, broken="\x00")
    settle(monkeypatch)
    followed = follow(graph, two_notes)
    work(graph)
    calls.clear()
    again = scan(graph, followed)
    assert counts(again) == {"unchanged": 2, "refused": 1}
    assert state(graph, again) is JobState.SUCCEEDED_WITH_ERRORS
    assert calls == []
    put(two_notes, broken="Not any more.\n")
    assert counts(scan(graph, followed)) == {"added": 1, "unchanged": 2}


def test_file_that_crashes_kg_is_skipped(
    graph: Graph, two_notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(two_notes, odd="Odd.\n")
    real = folders.to_record

    def failing(incoming: Incoming) -> Any:
        if "Odd" in incoming.text:
            raise RecursionError
        return real(incoming)

    monkeypatch.setattr(folders, "to_record", failing)
    followed = follow(graph, two_notes)
    work(graph)
    after = find_folder(graph, followed)
    assert after.last_scan is not None
    assert (counts(after), after.last_scan.refusals[0].document) == ({"added": 2, "refused": 1}, "odd.md")
    assert "RecursionError" in after.last_scan.refusals[0].reason


class Narrow(Graph):
    """Database that raises an error for the document `long.md`, because it is too large."""

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        def narrow(tx: Transaction) -> T:
            result = work(tx)
            if tx.run("documents/stored", document_id=build_document_id("notes", "long.md")):
                raise KgError("that was too much for one transaction of Neo4j: do it in parts")
            return result

        return super().transaction(narrow)


def test_file_that_neo4j_rejects_is_skipped(graph: Graph, two_notes: Path) -> None:
    put(two_notes, long="Long.\n")
    followed = follow(graph, two_notes)
    narrow = Narrow.__new__(Narrow)
    narrow.__dict__.update(graph.__dict__)
    work(narrow, handler=FolderSync(narrow, EVERYWHERE, LARGEST, READER))
    after = find_folder(graph, followed)
    assert after.last_scan is not None
    assert (counts(after), after.last_scan.refusals[0].document) == ({"added": 2, "refused": 1}, "long.md")
    assert "too much" in after.last_scan.refusals[0].reason
    assert sorted(documents(graph)) == ["below/two.md", "one.md"]


@pytest.mark.parametrize("scans", [True, False])
def test_worker_without_scans_leaves_folders_to_others(graph: Graph, *, scans: bool) -> None:
    settings = load_settings(sync=SyncSettings(scans=scans))
    pool, images = ConverterPool(settings.conversion), open_image_spaces(graph)
    container = Container(settings, graph, open_spaces(graph), images, converters=pool, reranker=None)
    assert (SCAN_KIND in {each.kind for each in container.handlers()}) is scans


def test_file_being_written_is_read_at_the_next_scan(
    graph: Graph, two_notes: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(two_notes, one="# One\n\nChanged.\n", below__two="Changed.\n")

    def change(*_: object) -> None:
        raise UnsettledFile

    with monkeypatch.context() as patched:
        patched.setattr(folders, "read_settled", change)
        assert counts(scan(graph, followed)) == {"postponed": 2}
    assert documents(graph)["one.md"] == "# One\n\nFirst.\n"
    assert counts(scan(graph, followed)) == {"changed": 2}


def test_unavailable_store_defers_images(
    graph: Graph, two_notes: Path, tmp_path: Path, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    blobs, away = tmp_path / "blobs", tmp_path / "unmounted"
    reader = DocumentReader(READER.converters, ImageKeeper(StoredFiles(graph, FileBlobStore(blobs))))
    handler = FolderSync(graph, EVERYWHERE, LARGEST, reader)
    followed = follow(graph, two_notes)
    (two_notes / "boat.jpg").write_bytes(encoded(drawn(600, 400), "JPEG"))
    scan(graph, followed, handler=handler)
    blobs.rename(away)
    (two_notes / "plan.jpg").write_bytes(encoded(drawn(40, 90), "JPEG"))
    assert counts(scan(graph, followed, handler=handler)) == {"added": 3}, "of the scan that has ended"
    away.rename(blobs)
    try_now(driver)
    work(graph, handler=handler)
    assert counts(find_folder(graph, followed)) == {"added": 1, "unchanged": 3}
