"""The vocabulary of the graph; tests hold every Cypher file to it."""

from __future__ import annotations

from typing import Final

PROPERTIES: Final[dict[str, frozenset[str]]] = {
    "Ontology": frozenset({"name", "created_at", "changed_at", "space", "chunking", "embed_on_ingest"}),
    "Document": frozenset(
        {
            *("document_id", "ontology", "document", "title", "uri", "format", "content_hash"),
            *("characters", "metadata", "sources", "created_at", "touched_at", "updated_at", "written_by"),
        }
    ),
    "Source": frozenset(
        {
            *("source_id", "ontology", "document", "document_id", "paragraph", "heading", "full_text"),
            *("content_hash", "start", "end", "scope", "embedding", "embedded_with", "embedded_at"),
            "held_at",
        }
    ),
    "Chunk": frozenset(
        {
            *("chunk_id", "space", "ontology", "document_id", "sources", "offset", "end_offset", "embedding"),
            "source_ids",
            "length",  # of chunks that kg 0.1 made; a migration takes it away
        }
    ),
    "CachedVector": frozenset({"key", "vector", "used_at"}),
    "CachedContext": frozenset({"key", "text", "used_at"}),
    "EmbeddingSpace": frozenset(
        {
            *("slug", "provider", "model", "revision", "dimensions", "max_tokens", "query_prefix"),
            *("passage_prefix", "fingerprint", "property", "index_name", "state", "created_at", "probe"),
        }
    ),
    "Job": frozenset(
        {
            *("job_id", "unique_key", "kind", "ontology", "state", "cursor", "done", "total", "wanted"),
            *("attempts", "stumbles", "waits", "fence", "worker", "locked_by", "lease_until", "error"),
            "permanent",
            *("created_at", "run_after", "started_at", "claimed_at", "done_at_claim", "finished_at"),
        }
    ),
    "Migration": frozenset({"name", "checksum", "kg_version", "applied_at"}),
}
"""The properties of each label."""

LABELS: Final = frozenset(PROPERTIES)
RELATIONSHIPS: Final = frozenset({"IN_ONTOLOGY", "PART_OF", "CHUNK_OF", "CHILD_OF"})
