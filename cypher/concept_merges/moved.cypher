// All that one concept has and another gets from it, and what both have in the same sources: enough to part them again.
MATCH (g:Concept {concept_id: $gone})
MATCH (k:Concept {concept_id: $kept})
RETURN COLLECT { MATCH (n:ConceptName)-[:NAMES]->(g) RETURN n {.name_id, .name} } AS names,
       COLLECT {
         MATCH (g)-[a:APPEARS_IN]->(s:Source)
         RETURN {source_id: s.source_id, concept_id: g.concept_id, confidence: a.confidence, verified: a.verified,
                 extracted_with: a.extracted_with, description: coalesce(a.description, ''),
                 terms: coalesce(a.terms, []), unverified: coalesce(a.unverified, [])}
       } AS appearances,
       COLLECT {
         MATCH (g)-[:APPEARS_IN]->(s:Source)<-[a:APPEARS_IN]-(k)
         RETURN {source_id: s.source_id, concept_id: k.concept_id, confidence: a.confidence, verified: a.verified,
                 extracted_with: a.extracted_with, description: coalesce(a.description, ''),
                 terms: coalesce(a.terms, []), unverified: coalesce(a.unverified, [])}
       } AS shared,
       COLLECT {
         MATCH (g)-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
         RETURN i {.instance_id, .start, .end, .quote, .score, .said, .extracted_with, source_id: s.source_id,
                   concept_id: g.concept_id}
       } AS quotes,
       COLLECT {
         MATCH (k)-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)<-[:APPEARS_IN]-(g)
         RETURN i {.instance_id, .start, .end, .quote, .score, .said, .extracted_with, source_id: s.source_id,
                   concept_id: k.concept_id}
       } AS shared_quotes,
       COLLECT { MATCH (g)-[r:RELATED_TO]->(o:Concept) WHERE o <> k RETURN r.relation_id } AS outgoing,
       COLLECT { MATCH (g)<-[r:RELATED_TO]-(o:Concept) WHERE o <> k RETURN r.relation_id } AS incoming,
       COLLECT {
         MATCH (g)-[r:RELATED_TO]-(k)
         RETURN r {.relation_id, .source_id, .confidence, .extracted_with, .statement, .quote, .start, .end,
                   type: r.stated_type, subject: startNode(r).concept_id, object: endNode(r).concept_id}
       } AS between
