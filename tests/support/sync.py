import threading
from pathlib import Path

import pytest

from kg_api.convert.isolated.pool import ConverterPool
from kg_api.graph.client import Graph
from kg_api.graph.folders import find_folder, register, request_scan
from kg_api.ingest import folder_listing
from kg_api.ingest.folder_listing import FolderAccess
from kg_api.ingest.folders import FolderSync
from kg_api.ingest.reader import DocumentReader
from kg_api.jobs.runner import Handler, Runner
from kg_api.schemas.folders import Folder, FolderScan, NewFolder
from kg_api.settings import ConversionSettings, WorkerSettings

LARGEST = 100_000


def no_key() -> None:
    """Home that has not been used by a service."""


EVERYWHERE = FolderAccess((Path("/"),), (), no_key)
"""Limits to use in a test for something else."""


def put(folder: Path, **files: str) -> None:
    """Write old files. In a name, use `__` for `/`. The extension `.md` is added."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def follow(graph: Graph, path: Path, ontology: str = "notes", prefix: str = "") -> str:
    return register(graph, NewFolder(path=str(path), ontology=ontology, prefix=prefix))


READER = DocumentReader(ConverterPool(ConversionSettings()))


def scan(
    graph: Graph,
    folder_id: str,
    *,
    allow_empty: bool = False,
    access: FolderAccess = EVERYWHERE,
    handler: Handler | None = None,
) -> Folder:
    request_scan(graph, folder_id, allow_empty=allow_empty)
    work(graph, access=access, handler=handler)
    return find_folder(graph, folder_id)


def work(graph: Graph, *, access: FolderAccess = EVERYWHERE, handler: Handler | None = None) -> int:
    handlers = [handler or FolderSync(graph, access, LARGEST, READER)]
    runner = Runner(graph, handlers, WorkerSettings(), worker="test", stopping=threading.Event())
    ran = 0
    while runner.run_one():
        ran += 1
    return ran


def counts(folder: Folder) -> dict[str, int]:
    assert folder.last_scan is not None, folder
    return of_scan(folder.last_scan)


def of_scan(scan: FolderScan) -> dict[str, int]:
    names = ("added", "changed", "unchanged", "removed", "refused", "postponed", "waiting")
    return {name: getattr(scan, name) for name in names if getattr(scan, name)}


def documents(graph: Graph, ontology: str = "notes") -> dict[str, str]:
    rows = graph.read("documents/page", ontologies=[ontology], offset=0, limit=10_000)
    ids = {row["document"]: row["document_id"] for row in rows}
    return {
        name: "".join(graph.read("documents/find", document_id=identity, ontologies=None)[0]["parts"])
        for name, identity in ids.items()
    }


def settle(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(folder_listing, "SETTLED_SECONDS", 0.0)
