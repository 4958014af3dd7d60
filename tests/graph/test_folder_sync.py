from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import neo4j
import pytest

from kg_api.convert.shared import ocr
from kg_api.errors import KgError
from kg_api.graph import concept_writes
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.document_writes import store_document
from kg_api.graph.folders import find_folder, request_scan
from kg_api.graph.jobs import find_job
from kg_api.ingest import folders
from kg_api.ingest.folder_listing import FolderAccess
from kg_api.ingest.folders import FolderSync
from kg_api.ingest.records import Incoming
from kg_api.schemas.base import document_id
from kg_api.schemas.folders import Folder
from kg_api.schemas.vocabulary import JobState
from kg_api.text import files
from tests.support.pictures import pictured
from tests.support.records import record
from tests.support.sync import (
    EVERYWHERE,
    LARGEST,
    READER,
    counts,
    documents,
    follow,
    no_key,
    put,
    scan,
    settle,
    work,
)

T = TypeVar("T")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    put(folder, one="# One\n\nFirst.\n", below__two="Second.\n")
    return folder


@pytest.fixture
def followed(graph: Graph, folder: Path) -> str:
    followed = follow(graph, folder)
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


def state(graph: Graph, folder: Folder) -> JobState:
    assert folder.job_id is not None
    return find_job(graph, folder.job_id).state


def test_adds_changes_and_removals_follow_the_folder(graph: Graph, folder: Path, followed: str) -> None:
    assert documents(graph) == {"one.md": "# One\n\nFirst.\n", "below/two.md": "Second.\n"}
    put(folder, one="# One\n\nChanged.\n", three="Third.\n")
    (folder / "below" / "two.md").unlink()
    after = scan(graph, followed)
    assert counts(after) == {"added": 1, "changed": 1, "removed": 1}
    assert (state(graph, after), after.documents, after.done, after.total) == (JobState.SUCCEEDED, 2, 3, 3)
    assert documents(graph) == {"one.md": "# One\n\nChanged.\n", "three.md": "Third.\n"}
    assert counts(scan(graph, followed)) == {"unchanged": 2}


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
    graph: Graph, folder: Path, followed: str, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    scan(graph, followed)
    calls.clear()
    os.utime(folder / "one.md", (1, 1))
    settle(monkeypatch)
    assert counts(scan(graph, followed)) == {"unchanged": 2}
    assert calls == ["read_settled"]
    scan(graph, followed)
    assert calls == ["read_settled"], "how it looks now is remembered"


def test_change_with_equal_size_and_time_is_detected(
    graph: Graph, folder: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    scan(graph, followed)
    path = folder / "below" / "two.md"
    before = path.stat()
    path.write_text("Zecond.\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert counts(scan(graph, followed)) == {"changed": 1, "unchanged": 1}
    assert documents(graph)["below/two.md"] == "Zecond.\n"


def test_folder_takes_over_document_of_same_name(graph: Graph, folder: Path) -> None:
    store_document(graph, record("one.md", ["By hand, before."]))
    followed = follow(graph, folder)
    work(graph)
    assert counts(find_folder(graph, followed)) == {"added": 1, "changed": 1}
    assert documents(graph)["one.md"] == "# One\n\nFirst.\n"
    (folder / "one.md").unlink()
    scan(graph, followed)
    assert sorted(documents(graph)) == ["below/two.md"]


def test_deleted_document_returns_while_its_file_exists(
    graph: Graph, followed: str, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    scan(graph, followed)
    driver.execute_query("MATCH (d:Document {document: 'one.md'})<--(s:Source) DETACH DELETE d, s")
    assert counts(scan(graph, followed)) == {"added": 1, "unchanged": 1}


def test_empty_file_is_skipped_and_keeps_old_document(graph: Graph, folder: Path, followed: str) -> None:
    put(folder, nothing="", blank=" \n\n", one="")
    after = scan(graph, followed)
    assert (counts(after), state(graph, after)) == (
        {"unchanged": 1, "refused": 1},
        JobState.SUCCEEDED_WITH_ERRORS,
    )
    assert after.last_scan is not None
    assert [each.document for each in after.last_scan.refusals] == ["one.md"]
    assert after.last_scan.left_out == {"empty file": 2}
    assert documents(graph) == {"one.md": "# One\n\nFirst.\n", "below/two.md": "Second.\n"}
    put(folder, one="# One\n\nFirst.\n", blank="Not any more.\n")
    after = scan(graph, followed)
    assert (counts(after), state(graph, after)) == ({"unchanged": 2, "added": 1}, JobState.SUCCEEDED)


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


def test_decomposed_document_name_becomes_composed(
    graph: Graph, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = folder / "U\u0308ber"
    below.mkdir()
    (below / "A\u0301.md").write_text("Above.\n")
    monkeypatch.setattr(files, "normalize_document_name", str)  # as it was once
    followed = follow(graph, folder)
    work(graph)
    assert "U\u0308ber/A\u0301.md" in documents(graph)
    monkeypatch.undo()
    assert counts(scan(graph, followed)) == {"added": 1, "removed": 1, "unchanged": 2}
    assert sorted(documents(graph)) == ["below/two.md", "one.md", "Über/Á.md"]
    assert counts(scan(graph, followed)) == {"unchanged": 3}


class Twice(Graph):
    """Database that loses the response to each commit, so that each transaction has to be run twice."""

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        super().transaction(work)
        return super().transaction(work)


def test_lost_answers_count_nothing_twice(graph: Graph, folder: Path, followed: str) -> None:
    put(folder, one="# One\n\nChanged.\n", three="Third.\n", broken="\x00")
    (folder / "below" / "two.md").unlink()
    request_scan(graph, followed)
    twice = Twice.__new__(Twice)
    twice.__dict__.update(graph.__dict__)
    work(twice, handler=FolderSync(twice, EVERYWHERE, LARGEST, READER))
    after = find_folder(graph, followed)
    assert counts(after) == {"added": 1, "changed": 1, "removed": 1, "refused": 1}
    assert (after.done, after.total) == (4, 4)
    assert sorted(documents(graph)) == ["one.md", "three.md"]


def test_evidence_of_large_files_is_removed_in_batches(
    graph: Graph, folder: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concept_writes, "MAX_SOURCES_PER_TRANSACTION", 1)
    put(folder, large="\n\n".join(f"Number {n}. " * 60 for n in range(3)))
    scan(graph, followed)
    at_once = list[int]()
    real = concept_writes.forget_evidence

    def counting(tx: Transaction, source_ids: list[str]) -> None:
        at_once.append(len(source_ids))
        real(tx, source_ids)

    monkeypatch.setattr(concept_writes, "forget_evidence", counting)
    put(folder, large="Number 1. " * 60)
    scan(graph, followed)
    assert at_once == [1, 1]
    (folder / "large.md").unlink()
    (folder / "one.md").unlink()
    scan(graph, followed)
    assert at_once == [1, 1, 1, 1], "the one source of each file in a transaction of its own"
    assert documents(graph).keys() == {"below/two.md"}


def test_scanned_pages_are_read_once_ocr_exists(
    graph: Graph, folder: Path, monkeypatch: pytest.MonkeyPatch, calls: list[str]
) -> None:
    """If there is no OCR, kg rejects a PDF that only has images, and skips half of another one. The files
    do not change."""
    (folder / "scanned.pdf").write_bytes(pictured(["Blueberries need acid soil."]))
    (folder / "half.pdf").write_bytes(pictured(["Cherries split."], ["Apricots ripen."], text_pages=[1]))
    settle(monkeypatch)
    followed = follow(graph, folder)
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


def test_missing_folder_removes_nothing_and_is_reported(graph: Graph, folder: Path, followed: str) -> None:
    folder.rename(folder.with_name("away"))
    after = scan(graph, followed)
    assert state(graph, after) is JobState.FAILED
    assert f"folder {folder} not found on the machine of the worker" in (after.error or "")
    assert "Nothing was deleted" in (after.error or "")
    assert after.documents == 2
    folder.with_name("away").rename(folder)
    back = scan(graph, followed)
    assert (back.error, counts(back)) == (None, {"unchanged": 2})


def test_failed_scan_is_reported_until_the_next(graph: Graph, folder: Path, followed: str) -> None:
    folder.rename(folder.with_name("away"))
    scan(graph, followed)
    request_scan(graph, followed)
    waiting = find_folder(graph, followed)
    assert waiting.state is JobState.QUEUED
    assert "not found on the machine of the worker" in (waiting.error or "")


def test_folder_replaced_by_a_file_removes_nothing(graph: Graph, folder: Path, followed: str) -> None:
    folder.rename(folder.with_name("away"))
    folder.write_text("a file")
    assert "is not a folder" in (scan(graph, followed).error or "")
    assert len(documents(graph)) == 2


def test_emptied_folder_needs_confirmation_to_remove_documents(
    graph: Graph, folder: Path, followed: str
) -> None:
    (folder / "one.md").unlink()
    (folder / "below" / "two.md").unlink()
    (folder / "NOT MOUNTED").touch()
    after = scan(graph, followed)
    assert state(graph, after) is JobState.FAILED
    assert "--allow-empty" in (after.error or "")
    assert len(documents(graph)) == 2
    cleared = scan(graph, followed, allow_empty=True)
    assert (counts(cleared), cleared.error, documents(graph)) == ({"removed": 2}, None, {})
    assert state(graph, scan(graph, followed)) is JobState.SUCCEEDED, "there is nothing left to lose"


def test_absent_mount_removes_no_document(
    graph: Graph, folder: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This should be the same in each scan, until you confirm that the documents should be deleted."""
    root, below = str(folder.parent), str(folder / "below")
    mounts = {root: "1", below: "2"}
    monkeypatch.setattr(folders, "read_mounts", lambda _: dict(mounts))
    scan(graph, followed)
    (folder / "below" / "two.md").unlink()
    del mounts[below]
    for _ in range(2):
        after = scan(graph, followed)
        assert after.last_scan is not None
        [told] = after.last_scan.refusals
        assert "not mounted" in told.reason
        assert f"kg folders scan {followed} --allow-empty" in told.reason
        assert sorted(documents(graph)) == ["below/two.md", "one.md"]
    mounts[below] = "another drive"
    put(folder, below__other="Other.\n")
    for _ in range(2):
        after = scan(graph, followed)
        assert after.last_scan is not None
        assert "has other files" in after.last_scan.refusals[0].reason
        assert sorted(documents(graph)) == ["below/two.md", "one.md"]
    (folder / "below" / "other.md").unlink()
    mounts.clear()
    mounts["/"] = "3"
    assert "is not mounted" in (scan(graph, followed).error or "")
    assert sorted(documents(graph)) == ["below/two.md", "one.md"]
    scan(graph, followed, allow_empty=True)
    assert sorted(documents(graph)) == ["one.md"]
    assert scan(graph, followed).error is None


def test_folder_replaced_during_a_scan_removes_nothing(
    graph: Graph, folder: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is what happens if a drive is mounted or unmounted during a scan."""
    real = folders.list_folder

    def replaced_after(*given: Any, **more: Any) -> Any:
        (folder / "below" / "two.md").unlink()
        listing = real(*given, **more)
        folder.rename(folder.with_name("away"))
        put(folder, one="# One\n\nFirst.\n")
        return listing

    monkeypatch.setattr(folders, "list_folder", replaced_after)
    after = scan(graph, followed)
    assert "changed during the scan" in (after.error or "")
    assert sorted(documents(graph)) == ["below/two.md", "one.md"]


def test_unreadable_file_is_skipped_and_scan_continues(graph: Graph, folder: Path) -> None:
    put(folder, after="After it.\n", blank="\u200b")
    (folder / "binary.md").write_bytes(b"\x7fELF" + bytes(100))
    (folder / "large.md").write_text("word " * LARGEST)
    followed = follow(graph, folder)
    work(graph)
    after = find_folder(graph, followed)
    assert counts(after) == {"added": 3, "refused": 3}
    assert state(graph, after) is JobState.SUCCEEDED_WITH_ERRORS
    assert after.last_scan is not None
    told = {each.document: each.reason for each in after.last_scan.refusals}
    assert {name: word in told[name] for name, word in REFUSED.items()} == dict.fromkeys(REFUSED, True), told


REFUSED = {"binary.md": "program", "large.md": "larger than 100,000 bytes", "blank.md": "no text"}


def test_rejected_file_is_read_once_but_always_reported(
    graph: Graph, folder: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, broken="\x00")
    settle(monkeypatch)
    followed = follow(graph, folder)
    work(graph)
    calls.clear()
    again = scan(graph, followed)
    assert counts(again) == {"unchanged": 2, "refused": 1}
    assert state(graph, again) is JobState.SUCCEEDED_WITH_ERRORS
    assert calls == []
    put(folder, broken="Not any more.\n")
    assert counts(scan(graph, followed)) == {"added": 1, "unchanged": 2}


def test_file_that_crashes_kg_is_skipped(graph: Graph, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, odd="Odd.\n")
    real = folders.to_record

    def failing(incoming: Incoming) -> Any:
        if "Odd" in incoming.text:
            raise RecursionError
        return real(incoming)

    monkeypatch.setattr(folders, "to_record", failing)
    followed = follow(graph, folder)
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
            if tx.run("documents/stored", document_id=document_id("notes", "long.md")):
                raise KgError("that was too much for one transaction of Neo4j: do it in parts")
            return result

        return super().transaction(narrow)


def test_file_that_neo4j_rejects_is_skipped(graph: Graph, folder: Path) -> None:
    put(folder, long="Long.\n")
    followed = follow(graph, folder)
    narrow = Narrow.__new__(Narrow)
    narrow.__dict__.update(graph.__dict__)
    work(narrow, handler=FolderSync(narrow, EVERYWHERE, LARGEST, READER))
    after = find_folder(graph, followed)
    assert after.last_scan is not None
    assert (counts(after), after.last_scan.refusals[0].document) == ({"added": 2, "refused": 1}, "long.md")
    assert "too much" in after.last_scan.refusals[0].reason
    assert sorted(documents(graph)) == ["below/two.md", "one.md"]


def test_file_replaced_by_outside_link_keeps_its_document(
    graph: Graph, folder: Path, followed: str, tmp_path: Path
) -> None:
    put(tmp_path / "elsewhere", secret="Secret.\n")
    (folder / "one.md").unlink()
    (folder / "one.md").symlink_to(tmp_path / "elsewhere" / "secret.md")
    assert counts(scan(graph, followed)) == {"unchanged": 1, "refused": 1}
    assert documents(graph)["one.md"] == "# One\n\nFirst.\n"


def test_worker_reads_only_allowed_folders(graph: Graph, folder: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "link").symlink_to(folder, target_is_directory=True)
    followed = follow(graph, allowed / "link")
    work(graph, access=FolderAccess([allowed], (), no_key))
    after = find_folder(graph, followed)
    assert "KG_SYNC__ROOTS" in (after.error or "")
    assert documents(graph) == {}
    assert counts(scan(graph, followed, access=FolderAccess([tmp_path], (), no_key))) == {"added": 2}
