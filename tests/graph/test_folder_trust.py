"""A folder that cannot be seen as it is loses nothing, and what cannot be taken is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kg_api.errors import KgError
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
    """A folder of two notes."""
    folder = tmp_path / "notes"
    put(folder, one="# One\n\nFirst.\n", below__two="Second.\n")
    return folder


@pytest.fixture
def followed(graph: Graph, folder: Path) -> str:
    """It is followed, and its documents are there."""
    followed = follow(graph, folder)
    work(graph)
    return followed


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was read from a disk and what was parsed, in order."""
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


def test_a_folder_that_is_not_there_removes_nothing_and_is_told(
    graph: Graph, folder: Path, followed: str
) -> None:
    folder.rename(folder.with_name("away"))
    after = scan(graph, followed)
    assert state(graph, after) is JobState.DEAD
    assert f"there is no folder {folder} on the worker's machine" in (after.error or "")
    assert "nothing was removed" in (after.error or "")
    assert after.documents == 2
    folder.with_name("away").rename(folder)
    back = scan(graph, followed)
    assert (back.error, counts(back)) == (None, {"unchanged": 2})


def test_why_a_scan_died_is_told_while_the_next_one_waits(graph: Graph, folder: Path, followed: str) -> None:
    folder.rename(folder.with_name("away"))
    scan(graph, followed)
    request_scan(graph, followed)
    waiting = find_folder(graph, followed)
    assert waiting.state is JobState.QUEUED
    assert "there is no folder" in (waiting.error or "")


def test_a_folder_that_is_a_file_now_removes_nothing(graph: Graph, folder: Path, followed: str) -> None:
    folder.rename(folder.with_name("away"))
    folder.write_text("a file")
    assert "is not a folder" in (scan(graph, followed).error or "")
    assert len(documents(graph)) == 2


def test_a_folder_that_is_empty_all_at_once_removes_nothing_unless_that_is_meant(
    graph: Graph, folder: Path, followed: str
) -> None:
    (folder / "one.md").unlink()
    (folder / "below" / "two.md").unlink()
    (folder / "NOT MOUNTED").touch()
    after = scan(graph, followed)
    assert state(graph, after) is JobState.DEAD
    assert "--allow-empty" in (after.error or "")
    assert len(documents(graph)) == 2
    cleared = scan(graph, followed, allow_empty=True)
    assert (counts(cleared), cleared.error, documents(graph)) == ({"removed": 2}, None, {})
    assert state(graph, scan(graph, followed)) is JobState.COMPLETED, "there is nothing left to lose"


def test_absent_mount_removes_no_document(
    graph: Graph, folder: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a person says that it is meant, in every scan."""
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


def test_a_folder_that_is_replaced_in_the_middle_removes_nothing(
    graph: Graph, folder: Path, followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of a drive that is unmounted, or mounted, while it is scanned."""
    real = folders.list_folder

    def replaced_after(*given: Any, **more: Any) -> Any:
        (folder / "below" / "two.md").unlink()
        listing = real(*given, **more)
        folder.rename(folder.with_name("away"))
        put(folder, one="# One\n\nFirst.\n")
        return listing

    monkeypatch.setattr(folders, "list_folder", replaced_after)
    after = scan(graph, followed)
    assert "changed while it was scanned" in (after.error or "")
    assert sorted(documents(graph)) == ["below/two.md", "one.md"]


def test_a_file_that_cannot_be_read_is_set_aside_and_the_others_go_on(graph: Graph, folder: Path) -> None:
    put(folder, after="After it.\n", blank="\u200b")
    (folder / "binary.md").write_bytes(b"\x7fELF" + bytes(100))
    (folder / "large.md").write_text("word " * LARGEST)
    followed = follow(graph, folder)
    work(graph)
    after = find_folder(graph, followed)
    assert counts(after) == {"added": 3, "refused": 3}
    assert state(graph, after) is JobState.COMPLETED_WITH_ERRORS
    assert after.last_scan is not None
    told = {each.document: each.reason for each in after.last_scan.refusals}
    assert {name: word in told[name] for name, word in REFUSED.items()} == dict.fromkeys(REFUSED, True), told


REFUSED = {"binary.md": "program", "large.md": "larger than 100,000 bytes", "blank.md": "no text"}


def test_a_refused_file_is_told_each_time_and_read_once(graph: Graph, folder: Path, calls: list[str]) -> None:
    put(folder, broken="\x00")
    settle(folder)
    followed = follow(graph, folder)
    work(graph)
    calls.clear()
    again = scan(graph, followed)
    assert counts(again) == {"unchanged": 2, "refused": 1}
    assert state(graph, again) is JobState.COMPLETED_WITH_ERRORS
    assert calls == []
    put(folder, broken="Not any more.\n")
    assert counts(scan(graph, followed)) == {"added": 1, "unchanged": 2}


def test_the_document_of_a_file_that_broke_stays_as_it_was(graph: Graph, folder: Path, followed: str) -> None:
    (folder / "one.md").write_bytes(b"\x7fELF" + bytes(100))
    assert counts(scan(graph, followed)) == {"unchanged": 1, "refused": 1}
    assert documents(graph)["one.md"] == "# One\n\nFirst.\n"


def test_a_file_that_kg_fails_on_is_set_aside_too(
    graph: Graph, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    """A database for which the document `long.md` is too much."""

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        """See `Graph`."""

        def narrow(tx: Transaction) -> T:
            result = work(tx)
            if tx.run("documents/stored", document_id=document_id("notes", "long.md")):
                raise KgError("that was too much for one transaction of Neo4j: do it in parts")
            return result

        return super().transaction(narrow)


def test_a_file_that_the_database_cannot_take_is_set_aside_too(graph: Graph, folder: Path) -> None:
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


def test_links_out_of_the_folder_are_not_followed(graph: Graph, folder: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", secret="Secret.\n")
    (folder / "out.md").symlink_to(tmp_path / "elsewhere" / "secret.md")
    (folder / "in.md").symlink_to("one.md")
    (folder / "far").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    followed = follow(graph, folder)
    work(graph)
    after = find_folder(graph, followed)
    assert sorted(documents(graph)) == ["below/two.md", "in.md", "one.md"]
    assert after.last_scan is not None
    assert [each.document for each in after.last_scan.refusals] == ["out.md"]
    assert "leads out of the folder" in after.last_scan.refusals[0].reason
    assert after.last_scan.left_out == {"link to a folder": 1}


def test_a_file_that_turns_into_a_link_out_keeps_what_was_known(
    graph: Graph, folder: Path, followed: str, tmp_path: Path
) -> None:
    put(tmp_path / "elsewhere", secret="Secret.\n")
    (folder / "one.md").unlink()
    (folder / "one.md").symlink_to(tmp_path / "elsewhere" / "secret.md")
    assert counts(scan(graph, followed)) == {"unchanged": 1, "refused": 1}
    assert documents(graph)["one.md"] == "# One\n\nFirst.\n"


def test_what_came_from_elsewhere_stays(graph: Graph, folder: Path, followed: str) -> None:
    store_document(graph, record("by hand.md", ["Mine."]))
    (folder / "one.md").unlink()
    assert counts(scan(graph, followed)) == {"removed": 1, "unchanged": 1}
    assert sorted(documents(graph)) == ["below/two.md", "by hand.md"]


def test_a_worker_reads_only_where_it_may(graph: Graph, folder: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "link").symlink_to(folder, target_is_directory=True)
    followed = follow(graph, allowed / "link")
    work(graph, access=FolderAccess([allowed], (), no_key))
    after = find_folder(graph, followed)
    assert "KG_SYNC__ROOTS" in (after.error or "")
    assert documents(graph) == {}
    assert counts(scan(graph, followed, access=FolderAccess([tmp_path], (), no_key))) == {"added": 2}
