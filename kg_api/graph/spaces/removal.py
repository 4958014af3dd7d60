"""Removing vectors that nothing needs any more: of a whole space, or of one ontology in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kg_api.graph.database import Graph, Transaction
from kg_api.graph.jobs import request_job
from kg_api.graph.spaces.marks import EmbeddedLabel
from kg_api.graph.statements import (
    FIRST_CONCEPT_INDEX,
    FIRST_IMAGE_INDEX,
    FIRST_INDEX,
    FIRST_MARK,
    FIRST_NEAR,
    FIRST_PROPERTY,
    FIRST_REFUSAL,
    FIRST_RELATION_INDEX,
    FIRST_TIME,
    of_space,
)
from kg_api.models.embedding.spaces import SECOND_SLOT

CLEANUP = "space_cleanup"
PORTION = 2000
Vectored = Literal["chunks", "sources", "concepts", "near", "relations", "relation_types"]
_LABELS: Final[dict[Vectored, EmbeddedLabel]] = {
    "sources": "Source",
    "concepts": "Concept",
    "relations": "RELATED_TO",
    "relation_types": "RelationType",
}
OF_A_NODE = (FIRST_PROPERTY, FIRST_MARK, FIRST_TIME, FIRST_REFUSAL, FIRST_NEAR)


@dataclass(frozen=True, slots=True)
class Leftover:
    """Vectors to remove."""

    keys: tuple[str, ...]
    """Of the slots of spaces."""
    ontology: str | None
    """Only of this one; None: of all, and the space itself."""
    slug: str | None = None
    since: str | None = None
    """Database time, as text: a time that comes back is of another zone."""
    seconds: int = 0
    """For how long it is known already."""

    @property
    def name(self) -> str:
        """Tells it from others."""
        return f"{self.ontology or ''}/{','.join(self.keys)}"


def begin_dropping(tx: Transaction, slug: str) -> None:
    """Let nothing be written to a space any more."""
    tx.run("spaces/begin_dropping", slug=slug)


def forget_vectors(tx: Transaction, ontology: str, keys: Sequence[str]) -> None:
    """Note that an ontology's vectors in these slots are to be removed."""
    tx.run("ontologies/forget", name=ontology, keys=list(keys))


def ask_for_cleanup(tx: Transaction) -> str:
    """Ask for the job that removes what was noted; its id."""
    return request_job(tx, CLEANUP, "", added=0)


def leftovers(graph: Graph) -> list[Leftover]:
    spaces = [
        Leftover((row["slug"], row["slug"] + SECOND_SLOT), None, row["slug"], row["since"], row["seconds"])
        for row in graph.read("spaces/to_drop")
    ]
    rows = graph.read("ontologies/leftovers")
    return [*spaces, *(Leftover(tuple(row["keys"]), row["ontology"]) for row in rows)]


def forget_portion(tx: Transaction, leftover: Leftover, of: Vectored, after: str) -> str | None:
    """Remove the vectors of one portion of nodes, chunks altogether; the last id of it, None at the end."""
    given = {"after": after, "ontology": leftover.ontology, "limit": PORTION}
    if of == "chunks":
        return tx.run("chunks/forget", keys=list(leftover.keys), **given)[0]["last"]
    keys = leftover.keys if of == "sources" else _of_concepts(leftover)
    if not keys:
        return None
    if of == "near":
        return tx.run("concepts/forget_near", spaces=list(keys), **given)[0]["last"]
    properties = [of_space(name, key) for key in keys for name in OF_A_NODE]
    return tx.run("embedding/forget_vectors", label=_LABELS[of], properties=properties, **given)[0]["last"]


def drop_indexes(graph: Graph, leftover: Leftover) -> None:
    """Drop the vector indexes of a space that is being removed."""
    names = [of_space(FIRST_INDEX, key) for key in leftover.keys]
    once = (FIRST_CONCEPT_INDEX, FIRST_IMAGE_INDEX, FIRST_RELATION_INDEX)
    names += [of_space(index, key) for key in _of_concepts(leftover) for index in once]
    for name in names:
        graph.write("spaces/drop_index", name=name)


def forgotten(tx: Transaction, leftover: Leftover) -> None:
    """Note that it has gone."""
    if leftover.slug is not None:
        tx.run("spaces/delete", slug=leftover.slug, since=leftover.since)
    else:
        tx.run("ontologies/forgotten", name=leftover.ontology, keys=list(leftover.keys))


def is_still_wanted(tx: Transaction, leftover: Leftover) -> bool:
    """Whether it is still to be removed: not by then, and made anew since."""
    if leftover.slug is not None:
        return bool(tx.run("spaces/require_dropping", slug=leftover.slug, since=leftover.since))
    keys = {
        key
        for row in tx.run("ontologies/leftovers")
        if row["ontology"] == leftover.ontology
        for key in row["keys"]
    }
    return keys.issuperset(leftover.keys)


def _of_concepts(leftover: Leftover) -> list[str]:
    """The spaces whose vectors of concepts or pictures go too: those of which neither slot is needed."""
    return [key for key in leftover.keys if key + SECOND_SLOT in leftover.keys]
