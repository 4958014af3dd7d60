// Which concepts sources carry, and what they say of them.
UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.concept_id})
MATCH (s:Source {source_id: row.source_id})
MERGE (c)-[a:APPEARS_IN]->(s)
SET a.confidence = row.confidence, a.verified = row.verified, a.extracted_with = row.extracted_with,
    a.description = nullIf(row.description, ''), a.terms = nullIf(row.terms, []),
    a.unverified = nullIf(row.unverified, [])
