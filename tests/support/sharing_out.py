"""How tests are shared out among processes, each of which has a Neo4j of its own."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

ONE_PROCESS = ("tests/graph/", "tests/service/")
"""Folders whose tests repeat statements. Another Neo4j would plan each again, a tenth of a second per
statement.
"""
FEW = 4
"""With more processes, such a folder would delay the run."""


class SharingOut(LoadFileScheduling):
    """File by file, but some folders whole among few processes."""

    def _split_scope(self, nodeid: str) -> str:
        whole = ONE_PROCESS if self.numnodes <= FEW else ()
        folder = next((each for each in whole if nodeid.startswith(each)), None)
        return folder or super()._split_scope(nodeid)
