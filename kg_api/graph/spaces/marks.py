"""Marks: what a node says of how it is embedded, be it a source, a concept, a picture or a relationship."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kg_api.errors import LeaseLost
from kg_api.graph.database import Transaction
from kg_api.graph.spaces.registry import Space
from kg_api.models.identity import digest

EXTRACTION_MARK: Final = "extracted_with"
"""The property that says which extractor has read a source."""
RENEWED: Final = "renewed"
"""The mark of a source that somebody wants to be embedded anew."""
MARK_DIGITS: Final = 16
EmbeddedLabel = Literal["Source", "Concept", "Image", "RELATED_TO", "RelationType"]
"""Of nodes and relationships that are embedded; each has its branch in the statements of
`cypher/embedding/`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How nodes of a label shall be embedded: the value that a property of each shall have.

    Behind the value is the hash of what it was made for: of a concept's text, or of a picture's file.
    """

    label: EmbeddedLabel
    key: str
    value: str
    time_property: str
    refusal_property: str

    @property
    def refused(self) -> str:
        """What the property of a node is that could not be embedded so."""
        return f"refused:{self.value}"

    def parameters(self) -> dict[str, str]:
        return {
            "label": self.label,
            "mark_property": self.key,
            "mark": self.value,
            "refused": self.refused,
            "time_property": self.time_property,
            "refusal_property": self.refusal_property,
        }


def mark_of(label: EmbeddedLabel, space: Space, value: str) -> Mark:
    """The mark of nodes that are embedded in a space in a certain way."""
    return Mark(label, space.mark_property, value, space.time_property, space.refusal_property)


def mark_of_model(label: EmbeddedLabel, kind: str, space: Space) -> Mark:
    """The mark of nodes whose vectors depend on a space's model alone, however texts are chunked."""
    return mark_of(label, space, digest(f"{kind} mark", space.fingerprint)[:MARK_DIGITS])


def reject(tx: Transaction, space: Space, mark: Mark, *, identity: str, text_hash: str, reason: str) -> bool:
    """Mark a node whose text the model does not take, unless it has changed; whether that was done.

    Raises:
        LeaseLost: the space is being removed, or is of another model now.
    """
    require_writable(tx, space)
    texts = {"id": identity, "text_hash": text_hash, "property": space.vector_property}
    return bool(tx.run("embedding/refuse", **mark.parameters(), **texts, reason=reason))


def retry_refused(tx: Transaction, ontology: str, mark: Mark) -> int:
    """Let nodes that were set aside be tried again; how many."""
    return tx.run("embedding/retry_refused", ontology=ontology, **mark.parameters())[0]["retried"]


def renew_documents(tx: Transaction, ontology: str, document_ids: Sequence[str], mark: Mark) -> int:
    """Let the sources of some documents be embedded anew, and not from the cache; how many."""
    parameters = {**mark.parameters(), "renewed": RENEWED, "document_ids": list(document_ids)}
    return tx.run("sources/renew_documents", ontology=ontology, **parameters)[0]["renewed"]


def require_writable(tx: Transaction, space: Space) -> None:
    """Refuse to write to a space that is going.

    Raises:
        LeaseLost: it is being removed, or is of another model now.
    """
    rows = tx.run("spaces/writable", slug=space.slug)
    if not rows or rows[0]["fingerprint"] != space.fingerprint:
        raise LeaseLost(f"the space {space.slug!r} is being removed")
