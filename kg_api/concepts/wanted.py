"""Concepts of a single source are embedded when an ontology's concepts are asked for by meaning (ADR 33)."""

from __future__ import annotations

from collections.abc import Collection

import structlog

from kg_api.errors import DatabaseUnavailable, TooBusy
from kg_api.graph.concepts.vectors import has_concepts, want_concepts
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.jobs import request_job
from kg_api.graph.jobs.records import CONCEPT_EMBEDDING
from kg_api.models.queries.search import Degradation
from kg_api.spaces.plans import EmbeddingState, OntologySnapshot
from kg_api.wording.plural import pluralize

log = structlog.get_logger()

MAX_STARTED = 50
"""Ontologies that one search starts."""
FOUND_BY_WORDS = "concepts that one source carries are found by their words until they are embedded"


def start_embedding(graph: Graph, known: OntologySnapshot, ontologies: Collection[str]) -> list[Degradation]:
    """Have all concepts embedded of ontologies whose concepts are asked for by meaning for the first time.

    Args:
        graph: where they are.
        known: all ontologies.
        ontologies: those that are searched.

    Returns:
        What is found by its words only until that is done.
    """
    asked = [known.embedding_states[name] for name in ontologies if name in known.embedding_states]
    new = [each for each in asked if not each.configured.wants_concepts]
    told = list[str]()
    try:
        told += [effect for each in new[:MAX_STARTED] if (effect := _start(graph, each))]
    except (TooBusy, DatabaseUnavailable) as error:  # a full disk, say: what only reads goes on
        log.info("concepts are embedded later", reason=str(error))
        told.append(f"{FOUND_BY_WORDS}; that could not be started: {error}")
    else:
        if (more := len(new) - MAX_STARTED) > 0:
            rest = pluralize(more, "more ontology", "more ontologies")
            told.append(f"{FOUND_BY_WORDS}; the next search starts that in {rest}")
    return [Degradation(part="concepts", effect=effect) for effect in told]


def _start(graph: Graph, embedding_state: EmbeddingState) -> str | None:
    """What was begun; nothing is counted, as the search waits for this: the job counts what it has to do."""
    name = embedding_state.ontology
    waits = embedding_state.configured.paused or not embedding_state.configured.embed_on_ingest

    def start(tx: Transaction) -> bool:
        begun = want_concepts(tx, name) and has_concepts(tx, name)
        if begun and not waits:
            request_job(tx, CONCEPT_EMBEDDING, name, added=0)
        return begun

    if not graph.transaction(start):  # of what another search has started, its progress tells
        return None
    command = f"kg admin regenerate-embeddings --type concept --ontology {name!r}"
    how = f"start that by: {command}" if waits else "that was started now"
    return f"{name}: {FOUND_BY_WORDS}; {how}"
