"""How tests are shared out among processes, each of which has a Neo4j of its own."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

ONE_PROCESS = ("tests/graph/", "tests/service/")
"""Folders whose tests ask the same statements again and again: another Neo4j would plan all of them anew, a
tenth of a second each."""
FEW = 4
"""Where there are more processes, such a folder would be what all the others wait for."""


class SharingOut(LoadFileScheduling):
    """File by file, but some folders whole among few processes."""

    def _split_scope(self, nodeid: str) -> str:
        whole = ONE_PROCESS if self.numnodes <= FEW else ()
        folder = next((each for each in whole if nodeid.startswith(each)), None)
        return folder or super()._split_scope(nodeid)
