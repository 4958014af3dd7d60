"""Flags on what may be due, so that it is found however much there is that is not.

A source is flagged when it comes and whenever it loses a mark, and no more when it gets one; there is one
flag for its vector and one for what is read in it. That all which may be due is flagged is noted on the
ontology, for one mark; every change of its configuration takes the note away. What looks for due sources
asks for the note by itself (`cypher/embedding`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.spaces.marks import EXTRACTION_MARK, Mark

WHOLE_SECONDS = 3600.0
"""How often all sources of an ontology are looked at, and not only those that are flagged."""
SETTLED_SECONDS = 150.0
"""After that all are looked at once more: what was being written when it was noted has been written then."""
MAX_FLAGGED = 2000
"""So many are flagged at a time; where more have another mark, nearly all is to be made anew."""


class Flags:
    """Sees that what is due is flagged; remembers when it last looked at all."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._look_at: dict[tuple[str, str], float] = {}

    def keep(self, ontology: str, mark: Mark, is_current: Callable[[Transaction], bool]) -> None:
        """Look at every source where it is not known that all are flagged, and at times all the same.

        Args:
            ontology: whose.
            mark: the only one that its sources shall have.
            is_current: whether they still shall, with the ontology locked; else nothing is noted.
        """
        place = (ontology, mark.key)
        noted = is_noted(self._graph, ontology, mark)
        if noted and time.monotonic() < self._look_at.get(place, float("-inf")):
            return
        if flag(self._graph, ontology, mark, is_current):
            pause = WHOLE_SECONDS if noted else SETTLED_SECONDS
            self._look_at[place] = time.monotonic() + pause


def is_noted(graph: Graph, ontology: str, mark: Mark) -> bool:
    """Whether all sources of an ontology without this mark are known to be flagged."""
    wanted = {"ontology": ontology, "mark_property": mark.key, "mark": mark.value}
    rows = graph.read("ontologies/flagged", **wanted, note=_names(mark)[1])
    return bool(rows) and rows[0]["flagged"]


def flag(graph: Graph, ontology: str, mark: Mark, is_current: Callable[[Transaction], bool]) -> bool:
    """Look at every source, flag those without this mark, and note it when none is left; see `keep`.

    Until then nothing is noted: whoever looks for what is due looks at all.

    Returns:
        Whether none is left.
    """
    name, note = _names(mark)
    wanted = {"ontology": ontology, "mark_property": mark.key, "mark": mark.value}

    def noted(tx: Transaction) -> None:
        if is_current(tx):
            tx.run("ontologies/note_flagged", **wanted, note=note)

    graph.write("ontologies/note_flagged", **wanted | {"mark": None}, note=note)
    if graph.write("embedding/flag", **wanted, flag=name, limit=MAX_FLAGGED)[0]["flagged"] >= MAX_FLAGGED:
        return False
    graph.transaction(noted)
    return True


def _names(mark: Mark) -> tuple[str, str]:
    """The properties that flag a source, and that note it on the ontology."""
    return ("unread", "unread_for") if mark.key == EXTRACTION_MARK else ("unembedded", "flagged_for")
