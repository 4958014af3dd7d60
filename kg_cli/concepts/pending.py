"""What is told of concepts that are not there yet, so that nobody searches for them in vain."""

from __future__ import annotations

from kg_api.client import KgClient
from kg_api.errors import KgError
from kg_api.models.concepts.extraction_config import ExtractionStatus
from kg_api.wording.plural import are, pluralize


def concepts_to_follow(client: KgClient, ontology: str, found: ExtractionStatus | None = None) -> str | None:
    """One line about concepts that are still extracted or embedded; None when nothing is under way.

    Args:
        client: whom to ask.
        ontology: whose concepts.
        found: how far extraction is, where that is known already.
    """
    try:
        found = found or client.extraction_config(ontology)
        counts = client.embedding_status(ontology).concepts
    except KgError:  # what the person asked for has been done: this is said beside it
        return None
    reads = found.due if found.problem is None and found.last_error is None else 0
    embeds = counts.missing + counts.stale if counts else 0
    told = [f"{pluralize(reads, 'source')} {are(reads)} still to be read"] if reads else []
    told += [f"{pluralize(embeds, 'concept')} {are(embeds)} still to be embedded"] if embeds else []
    return f"concepts follow: {', '.join(told)}" if told else None
