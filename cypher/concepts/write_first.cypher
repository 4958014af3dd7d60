// The concepts of sources that carry none yet, and the quotes that prove them, each tied to both: what cannot be there is
// not looked for. A quote's id is looked for all the same, for a concept may have been merged and parted again.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
UNWIND row.concepts AS one
MATCH (c:Concept {concept_id: one.concept_id})
CREATE (c)-[:APPEARS_IN {confidence: one.confidence, verified: one.verified, extracted_with: one.extracted_with,
                         description: nullIf(one.description, ''), terms: nullIf(one.terms, []),
                         unverified: nullIf(one.unverified, [])}]->(s)
WITH s, c, one
UNWIND one.quotes AS each
MERGE (i:Instance {instance_id: each.instance_id})
SET i.ontology = $ontology, i.quote = each.quote, i.start = each.start, i.end = each.end, i.score = each.score,
    i.said = each.said, i.extracted_with = each.extracted_with
CREATE (c)-[:EVIDENCED_BY]->(i)
CREATE (i)-[:FROM_SOURCE]->(s)
