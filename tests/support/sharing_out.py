from xdist.scheduler import LoadFileScheduling

ONE_PROCESS = ("tests/graph/", "tests/service/")
"""Folders with tests that use the same statements. If you use another Neo4j, it has to plan them again,
which takes a tenth of a second for each."""
FEW = 4
"""If there are more processes, the run would have to wait for this folder."""


class SharingOut(LoadFileScheduling):
    """Distribute the tests by file. If there are few processes, some folders are not divided."""

    def _split_scope(self, nodeid: str) -> str:
        whole = ONE_PROCESS if self.numnodes <= FEW else ()
        folder = next((each for each in whole if nodeid.startswith(each)), None)
        return folder or super()._split_scope(nodeid)
