// What was changed; written once, however often that is tried.
UNWIND $entries AS entry
MERGE (a:AuditEntry {entry_id: entry.entry_id})
ON CREATE SET a += entry
