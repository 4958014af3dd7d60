"""The job that scans a folder."""

from __future__ import annotations

import contextlib

from kg_api.graph.database import Graph
from kg_api.graph.documents.folder_scans import FolderGone, folder_of_job
from kg_api.graph.documents.writes import AskForExtraction
from kg_api.ingest.reading import DocumentReader
from kg_api.jobs.run import JobRun
from kg_api.models.library.folders import SCAN_KIND
from kg_api.sync.access import FolderAccess
from kg_api.sync.listing import list_folder
from kg_api.sync.scan import Scan


class FolderSync:
    """Handles jobs of kind `folder_sync`. Memory is bounded by the folder's names and one file."""

    kind = SCAN_KIND

    def __init__(
        self,
        graph: Graph,
        access: FolderAccess,
        max_bytes: int,
        reader: DocumentReader,
        extract: AskForExtraction | None = None,
    ) -> None:
        """Take what a worker may read.

        Args:
            graph: where documents go.
            access: what may be read.
            max_bytes: the largest file that is taken.
            reader: reads files of every kind.
            extract: asks for the reading of new text.
        """
        self._graph = graph
        self._access = access
        self._max_bytes = max_bytes
        self._reader = reader
        self._extract = extract

    def run(self, run: JobRun) -> None:
        """Scan, again while somebody asked for another scan meanwhile.

        Raises:
            FolderUnusable: the folder is not there, or looks as if it were not; nothing was removed.
        """
        done = run.job.done
        while True:
            with contextlib.suppress(FolderGone):
                done = self._scan(run, done)
            if run.finish():
                return

    def _scan(self, run: JobRun, done: int) -> int:
        folder = folder_of_job(self._graph, run.job.job_id)
        if folder is None:
            raise FolderGone
        granted = self._access.is_granted(folder.path, folder.ontology, folder.grant)
        listing = list_folder(folder.path, folder.prefix, self._access, granted=granted)
        scan = Scan(
            self._graph, run, folder, listing, self._max_bytes, reader=self._reader, extract=self._extract
        )
        return scan.run(done)
