// A concept becomes part of another, and it is recorded: which, why, and its names; what it has is recorded at its sources.
CREATE (m:ConceptMerge {merge_id: $merge_id, ontology: $ontology, pair: $pair, kept_id: $kept, gone_id: $gone, into: $into,
                        merged: $merged, sources: $sources, reason: $reason, similarity: $similarity, moved: $moved,
                        at: datetime.realtime()})
RETURN m.merge_id AS merge_id
