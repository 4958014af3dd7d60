"""Vocabulary of the graph for checks of Cypher files."""

from __future__ import annotations

from typing import Final

PROPERTIES: Final[dict[str, frozenset[str]]] = {
    "Ontology": frozenset(
        {
            *("name", "created_at", "changed_at", "space", "chunking", "embed_on_ingest", "paused"),
            *("slot", "serving", "previous", "activates", "leftovers"),
            *("image_space", "image_serving", "image_previous", "image_activates"),
            *(
                "extraction",
                "extraction_spent",
                "extraction_receipts",
                "extraction_paused",
                "extraction_asked",
                "extraction_expected",
            ),
            *("concepts_wanted_at", "flagged_for", "unread_for", "held_at"),
            *("communities", "communities_at", "communities_generation", "communities_building"),
            *("proposals", "proposed_for", "proposed_at", "proposals_dropped"),
            *("synonyms", "language", "index_after", "index_after_paragraph"),
        }
    ),
    "Document": frozenset(
        {
            *("document_id", "ontology", "document", "title", "uri", "format", "content_hash"),
            *("characters", "metadata", "sources", "created_at", "touched_at", "updated_at", "written_by"),
            *("changes", "preface", "text_hash"),
            *("folder_id", "file_stamp", "file_hash", "file_content"),  # of the folder that it came from
        }
    ),
    "WaitingDocument": frozenset(
        {
            *("document_id", "ontology", "awaits", "document", "title", "format", "characters", "sources"),
            *("beginning", "version", "given", "given_at", "folder_id", "file_stamp", "file_hash", "blobs"),
        }
    ),
    "DocumentWrite": frozenset(),
    "DocumentWritesPruned": frozenset({"writes"}),
    "Source": frozenset(
        {
            *("source_id", "ontology", "document", "document_id", "paragraph", "heading", "full_text"),
            *("content_hash", "start", "end", "page", "last_page", "scope"),
            *("ocr_confidence", "word_boxes"),
            *("embedding", "embedded_with", "embedded_at"),
            *("held_at", "refused_because", "title", "block_kinds", "block_starts", "unembedded", "unread"),
            *("extracted_with", "extracted_at", "not_extracted_because", "unverified_quotes"),
        }
    ),
    "Image": frozenset(  # a second label of sources
        {
            *("source_id", "ontology", "document", "document_id", "paragraph"),
            *("storage_key", "thumbnail_key", "content_type", "width", "height", "bytes", "perceptual_hash"),
            *("held_at", "embedding", "embedded_with", "embedded_at", "refused_because"),
        }
    ),
    "Blob": frozenset({"key", "generation", "lost", "touched_at"}),
    "DeadBlob": frozenset({"key", "generation"}),
    "LooseBlob": frozenset({"key"}),  # a second label of blobs
    "BlobStore": frozenset({"store_id"}),
    "BlobHold": frozenset({"hold_id", "until"}),
    "Concept": frozenset(
        {
            *("concept_id", "ontology", "label", "description", "search_terms", "text_hash", "scope"),
            *("created_at", "changed_at", "held_at"),
            *("embedding", "embedded_with", "embedded_at", "refused_because", "linked_at"),
        }
    ),
    "RelationType": frozenset(
        {
            *("type_id", "ontology", "name", "key", "stance", "text_hash", "created_at", "held_at"),
            *("embedding", "embedded_with", "embedded_at", "refused_because"),
        }
    ),
    "ConceptMerge": frozenset(
        {
            *("merge_id", "ontology", "pair", "kept_id", "gone_id", "into", "merged", "sources", "reason"),
            *("similarity", "moved", "linked", "at", "undone_at", "undone_by", "held_at"),
        }
    ),
    "TypeMerge": frozenset(
        {
            *(
                "merge_id",
                "ontology",
                "into",
                "merged",
                "relations",
                "at",
                "by",
                "undone_at",
                "undone_by",
                "renaming",
                "held_at",
            )
        }
    ),
    "Unlinked": frozenset(  # a second label of sources and concepts
        {"ontology", "source_id", "content_hash", "concept_id", "text_hash", "embedded_at"}
    ),
    "Proposal": frozenset(
        {
            *("proposal_id", "ontology", "kind", "state", "score", "similarity", "reason", "held_at"),
            *("created_at", "looked_at", "decided_at", "decided_by"),
        }
    ),
    "Judgement": frozenset(
        {
            *("judgement_id", "ontology", "question_id", "question", "source_id", "document_id", "document"),
            *("relevance", "judged_by", "judged_at"),
        }
    ),
    "Community": frozenset({"generation", "community_id", "ontology", "level", "place", "inside"}),
    "ConceptName": frozenset({"name_id", "ontology", "name"}),
    "Instance": frozenset(
        {*("instance_id", "ontology", "quote", "start", "end", "score", "said", "extracted_with")}
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
            *(
                "slug",
                "provider",
                "model",
                "revision",
                "dimensions",
                "max_tokens",
                "query_prefix",
                "modality",
            ),
            *(
                "passage_prefix",
                "fingerprint",
                "property",
                "index_name",
                "dropping",
                "held_at",
                "for_new",
                "for_new_after",
                "created_at",
                "probe",
                "related",
                "unrelated",
            ),
            *("labels_related", "labels_unrelated", "labels_measured_at"),
        }
    ),
    "Job": frozenset(
        {
            *("job_id", "unique_key", "kind", "ontology", "state", "cursor", "done", "total", "wanted"),
            *(
                "attempts",
                "failures",
                "rank",
                "request_id",
                "traceparent",
                "waits",
                "fence",
                "worker",
                "locked_by",
                "lease_until",
                "error",
            ),
            "permanent",
            *("created_at", "run_after", "started_at", "claimed_at", "done_at_claim", "finished_at"),
            *(
                "key",
                "queued_at",
                "progressed_at",
                "selection",
                "forced_at",
                "set_aside",
                "expected_cost",
                "expected_again",
                "spent",
                "parent_id",
                "part",
            ),
            "allow_empty",  # of a folder's scan
        }
    ),
    "Folder": frozenset(
        {
            *("folder_id", "path", "ontology", "prefix", "every_seconds", "registered_by", "created_at"),
            *("due_at", "job_id", "progress", "last_scan", "scanned_at", "error", "removing", "touched_at"),
            *("grant", "review"),
        }
    ),
    "KeyRing": frozenset({"ring", "held_at"}),
    "ApiKey": frozenset(
        {
            *("key_id", "name", "secret_hash", "scope", "replaces", "created_by", "created_at", "expires_at"),
            *("ontologies", "revoked_at", "last_used_at", "valid_seconds"),
        }
    ),
    "PageSession": frozenset({"session_hash", "opened_at", "expires_at"}),
    "AuditEntry": frozenset(
        {"entry_id", "at", "key_id", "method", "path", "status", "request_id", "outcome"}
    ),
    "Worker": frozenset({"name", "host", "pid", "started_at", "seen_at", "notes"}),
    "KeptAnswer": frozenset({"key", "request_hash", "answer", "kept_at", "held_at"}),
    "Migration": frozenset({"name", "checksum", "kg_version", "applied_at"}),
}
"""The properties of each label."""

LABELS: Final = frozenset(PROPERTIES)
RELATIONSHIPS: Final = frozenset(
    {
        *("IN_ONTOLOGY", "PART_OF", "CHUNK_OF", "CHILD_OF"),
        *("STORED_AS", "SHOWN_AS", "ORIGINAL", "HOLDS"),  # of pictures, documents and their files
        *("NAMES", "APPEARS_IN", "EVIDENCED_BY", "FROM_SOURCE", "RELATED_TO", "MERGED_INTO"),
        *("PROPOSES", "LINKED_TO", "MOVED", "NEAR_TO"),
        *("MEMBER_OF", "NAMED_BY"),
        "OPENED_WITH",  # of sessions and their keys
    }
)
RELATIONSHIP_PROPERTIES: Final[dict[str, frozenset[str]]] = {
    "APPEARS_IN": frozenset(
        {"confidence", "verified", "extracted_with", "description", "terms", "unverified"}
    ),
    "MEMBER_OF": frozenset({"place", "weight"}),
    "NAMED_BY": frozenset({"place"}),
    "MOVED": frozenset({"row"}),
    "NEAR_TO": frozenset({"space", "cosine"}),
    "PROPOSES": frozenset({"place", "start", "end"}),
    "LINKED_TO": frozenset({"proposal_id", "type", "confidence", "by", "at"}),
    "RELATED_TO": frozenset(
        {
            *("relation_id", "type", "confidence", "source_id", "extracted_with"),
            *("ontology", "stated_type", "type_id", "type_key", "statement", "quote", "start", "end"),
            *("text_hash", "held_at", "embedding", "embedded_with", "embedded_at", "refused_because"),
        }
    ),
}
"""The properties of relationships that have any."""
