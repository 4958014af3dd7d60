// A concept becomes part of another, and it is recorded: which, why, its names and links; what it has is recorded at its sources.
CREATE (m:ConceptMerge {merge_id: $merge_id, ontology: $ontology, pair: $pair, kept_id: $kept, gone_id: $gone, into: $into,
                        merged: $merged, sources: $sources, reason: $reason, similarity: $similarity, moved: $moved, linked: $linked,
                        at: datetime.realtime()})
RETURN m.merge_id AS merge_id
