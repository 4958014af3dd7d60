// The relationships of a concept that goes, with the sources that state them; of those with the one that stays all that is
// said.
MATCH (g:Concept {concept_id: $gone})-[r:RELATED_TO]-(o:Concept)
RETURN r.source_id AS source_id, r.relation_id AS relation_id, startNode(r) = g AS outgoing,
       CASE WHEN o.concept_id = $kept THEN
         r {.relation_id, .source_id, .confidence, .extracted_with, .statement, .quote, .start, .end,
            type: r.stated_type, subject: startNode(r).concept_id, object: endNode(r).concept_id}
       END AS between
