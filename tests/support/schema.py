from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PROPERTIES: Final = {
    "Ontology": _words(
        "name created_at changed_at space chunking embed_on_ingest paused slot serving previous activates "
        "leftovers image_space image_serving image_previous image_activates extraction extraction_spent "
        "extraction_receipts extraction_paused extraction_asked concepts_wanted_at "
        "flagged_for unread_for held_at communities communities_at "
        "proposals proposed_for proposed_at proposals_dropped synonyms language "
        "index_after index_after_paragraph"
    ),
    "Document": _words(  # folder_id to file_content: of the folder that it came from
        "document_id ontology document title uri format content_hash characters metadata sources created_at "
        "touched_at updated_at written_by changes preface text_hash sent_as folder_id file_stamp file_hash "
        "file_content"
    ),
    "WaitingDocument": _words(
        "document_id ontology awaits document title format characters sources beginning version given "
        "given_at folder_id file_stamp file_hash blobs"
    ),
    "DocumentWrite": _words(""),
    "DocumentWritesPruned": _words("writes"),
    "Source": _words(
        "source_id ontology document document_id paragraph heading full_text content_hash start end page "
        "last_page scope ocr_confidence word_boxes embedding embedded_with embedded_at held_at "
        "refused_because title block_kinds block_starts unembedded unread extracted_with extracted_at "
        "not_extracted_because unverified_quotes"
    ),
    "Image": _words(  # a second label of sources
        "source_id ontology document document_id paragraph storage_key thumbnail_key content_type width "
        "height bytes held_at embedding embedded_with embedded_at refused_because"
    ),
    "Blob": _words("key generation lost touched_at"),
    "DeadBlob": _words("key generation"),
    "LooseBlob": _words("key"),  # a second label of blobs
    "BlobStore": _words("store_id"),
    "BlobHold": _words("hold_id until"),
    "Concept": _words(
        "concept_id ontology label description search_terms text_hash scope created_at changed_at held_at "
        "embedding embedded_with embedded_at refused_because linked_at"
    ),
    "RelationType": _words(
        "type_id ontology name key stance text_hash created_at held_at embedding embedded_with embedded_at "
        "refused_because"
    ),
    "ConceptMerge": _words(
        "merge_id ontology pair kept_id gone_id into merged sources reason similarity moved linked at "
        "undone_at undone_by held_at"
    ),
    "TypeMerge": _words("merge_id ontology into merged relations at by undone_at undone_by renaming held_at"),
    "Unlinked": _words(  # a second label of sources and concepts
        "ontology source_id content_hash concept_id text_hash embedded_at"
    ),
    "Proposal": _words(
        "proposal_id ontology kind state score similarity reason held_at created_at looked_at decided_at "
        "decided_by"
    ),
    "Judgement": _words(
        "judgement_id ontology question_id question source_id document_id document relevance judged_by "
        "judged_at"
    ),
    "Community": _words("generation community_id ontology level place concept_ids weights"),
    "ConceptName": _words("name_id ontology name"),
    "Instance": _words("instance_id ontology quote start end score said extracted_with"),
    "Chunk": _words(  # length: of chunks that kg 0.1 made; a migration takes it away
        "chunk_id space ontology document_id sources offset end_offset embedding source_ids length"
    ),
    "CachedVector": _words("key vector used_at"),
    "CachedContext": _words("key text used_at"),
    "EmbeddingSpace": _words(
        "slug provider model revision dimensions max_tokens query_prefix modality passage_prefix "
        "fingerprint property index_name dropping held_at for_new for_new_after created_at probe related "
        "unrelated labels_related labels_unrelated labels_measured_at"
    ),
    "Job": _words(  # allow_empty: of a folder's scan
        "job_id unique_key kind ontology state cursor done total wanted attempts failures rank request_id "
        "traceparent waits fence worker locked_by lease_until error permanent created_at run_after "
        "started_at claimed_at done_at_claim finished_at key queued_at progressed_at selection forced_at "
        "set_aside spent parent_id part allow_empty"
    ),
    "Folder": _words(
        "folder_id path ontology prefix every_seconds registered_by created_at due_at job_id progress "
        "last_scan scanned_at error removing touched_at grant review"
    ),
    "KeyRing": _words("ring held_at"),
    "ApiKey": _words(
        "key_id name secret_hash scope replaces created_by created_at expires_at ontologies revoked_at "
        "last_used_at valid_seconds"
    ),
    "PageSession": _words("session_hash opened_at expires_at"),
    "AuditEntry": _words("entry_id at key_id method path status request_id outcome"),
    "Worker": _words("name host pid started_at seen_at notes"),
    "KeptAnswer": _words("key request_hash answer kept_at held_at"),
    "Migration": _words("name checksum kg_version applied_at"),
}

LABELS: Final = frozenset(PROPERTIES)
RELATIONSHIPS: Final = _words(
    "IN_ONTOLOGY PART_OF CHUNK_OF CHILD_OF STORED_AS SHOWN_AS ORIGINAL HOLDS NAMES APPEARS_IN "
    "EVIDENCED_BY FROM_SOURCE RELATED_TO MERGED_INTO PROPOSES LINKED_TO MOVED NEAR_TO "
    "OPENED_WITH"
)
RELATIONSHIP_PROPERTIES: Final = {
    "APPEARS_IN": _words("confidence verified extracted_with description terms unverified"),
    "MOVED": _words("row"),
    "NEAR_TO": _words("space cosine"),
    "PROPOSES": _words("place start end"),
    "LINKED_TO": _words("proposal_id type confidence by at"),
    "RELATED_TO": _words(
        "relation_id type confidence source_id extracted_with ontology stated_type type_id type_key "
        "statement quote start end text_hash held_at embedding embedded_with embedded_at refused_because"
    ),
}
"""Properties of relationships, if they have any."""
