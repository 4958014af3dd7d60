// name: count_behind
// Count nodes with a current vector in the answering space and none in the configured space: pending or rejected.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.document_id >= '' AND n.paragraph >= 0 RETURN n
  }
  items()
}
WITH n[$answering_property] AS answering, coalesce(n[$mark_property], '') AS mark
WHERE answering IS NOT NULL AND NOT answering STARTS WITH 'refused:' AND NOT mark STARTS WITH $mark
RETURN count(CASE WHEN NOT mark STARTS WITH $refused THEN 1 END) AS behind,
       count(CASE WHEN mark STARTS WITH $refused THEN 1 END) AS refused

// name: count_due
// Count the pending nodes of an ontology, with the same conditions as `due`.
CYPHER 25
OPTIONAL MATCH (o:Ontology {name: $ontology})
WITH $forced_at IS NULL AND coalesce($mark_property + ':' + $mark IN [o.flagged_for, o.unread_for], false) AS flagged
CALL (flagged) {
  WHEN $label = 'Source' AND flagged AND $mark_property = 'extracted_with' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, unread, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.unread = true
      AND n.document_id >= '' AND n.document_id < $until AND n.paragraph >= 0
    RETURN n
  }
  WHEN $label = 'Source' AND flagged THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, unembedded, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.unembedded = true
      AND n.document_id >= '' AND n.document_id < $until AND n.paragraph >= 0
    RETURN n
  }
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.document_id >= '' AND n.document_id < $until AND n.paragraph >= 0 RETURN n
  }
  WHEN $label = 'Concept' THEN {
    MATCH (n:Concept) USING INDEX SEEK n:Concept(ontology, concept_id)
    WHERE n.ontology = $ontology AND n.concept_id > ''
      AND ($wants_all OR coalesce(n[$mark_property], n[$answering_property]) IS NOT NULL OR COUNT { (n)-[:APPEARS_IN]->() } > 1)
    RETURN n
  }
  items()
}
WITH n, coalesce(':' + CASE $label WHEN 'Image' THEN n.storage_key ELSE n.text_hash END, '') AS text, n[$mark_property] AS mark
WHERE (mark IS NULL OR NOT mark IN [$mark + text, $refused + text] OR n[$time_property] < $forced_at)
  AND ($selection = 'due' OR ($selection = 'missing') = (coalesce(mark, n[$answering_property]) IS NULL))
RETURN count(n) AS due

// name: count_embedded
// Count the items of ontologies by the state of their vectors. Concepts with one source may be deferred.
CYPHER 25
UNWIND $plans AS plan
CALL (plan) {
  WHEN plan.label = 'Concept' THEN {
    MATCH (n:Concept) USING INDEX SEEK n:Concept(ontology, concept_id)
    WHERE n.ontology = plan.ontology AND n.concept_id > ''
    RETURN n, NOT plan.wants_all AND COUNT { (n)-[:APPEARS_IN]->() } <= 1 AS waits
  }
  WHEN plan.label = 'Image' THEN {
    MATCH (n:Image) USING INDEX SEEK n:Image(ontology, source_id)
    WHERE n.ontology = plan.ontology AND n.source_id > '' RETURN n, false AS waits
  }
  WHEN plan.label = 'RELATED_TO' THEN {
    MATCH ()-[n:RELATED_TO]->() USING INDEX SEEK n:RELATED_TO(ontology, relation_id)
    WHERE n.ontology = plan.ontology AND n.relation_id > '' RETURN n, false AS waits
  }
}
WITH n[plan.mark_property] AS mark, n[plan.answering_property] AS answering, waits, plan,
     CASE plan.label WHEN 'Image' THEN n.storage_key ELSE n.text_hash END AS text
RETURN count(*) AS total, count(CASE WHEN mark = plan.mark + ':' + text THEN 1 END) AS embedded,
       count(CASE WHEN mark = plan.refused + ':' + text THEN 1 END) AS refused,
       count(CASE WHEN coalesce(mark, answering) IS NULL AND NOT waits THEN 1 END) AS missing,
       count(CASE WHEN coalesce(mark, answering) IS NULL AND waits THEN 1 END) AS deferred

// name: due
// Return the next pending nodes of an ontology: sources in reading order, other items by id. If all sources with
// another mark are flagged, only flagged ones are read. The order of an index comes before the filter. Otherwise, the
// planner reads and sorts all remaining nodes in each batch. Marks of concepts and relationships end with the hash of
// their text, and marks of images with the hash of their file. A concept with one source and without a vector is
// pending only after the first vector search for concepts.
CYPHER 25
OPTIONAL MATCH (o:Ontology {name: $ontology})
WITH $forced_at IS NULL AND coalesce($mark_property + ':' + $mark IN [o.flagged_for, o.unread_for], false) AS flagged
CALL (flagged) {
  WHEN $label = 'Source' AND flagged AND $mark_property = 'extracted_with' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, unread, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.unread = true
      AND n.document_id >= $after AND n.document_id < $until AND n.paragraph >= 0
    WITH n ORDER BY n.ontology, n.unread, n.document_id, n.paragraph
    WHERE n.document_id > $after OR n.paragraph > $after_paragraph
    RETURN n
  }
  WHEN $label = 'Source' AND flagged THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, unembedded, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.unembedded = true
      AND n.document_id >= $after AND n.document_id < $until AND n.paragraph >= 0
    WITH n ORDER BY n.ontology, n.unembedded, n.document_id, n.paragraph
    WHERE n.document_id > $after OR n.paragraph > $after_paragraph
    RETURN n
  }
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.document_id >= $after AND n.document_id < $until AND n.paragraph >= 0
    WITH n ORDER BY n.ontology, n.document_id, n.paragraph
    WHERE n.document_id > $after OR n.paragraph > $after_paragraph
    RETURN n
  }
  WHEN $label = 'Concept' THEN {
    MATCH (n:Concept) USING INDEX SEEK n:Concept(ontology, concept_id)
    WHERE n.ontology = $ontology AND n.concept_id > $after
    WITH n ORDER BY n.ontology, n.concept_id
    WHERE ($wants_all OR coalesce(n[$mark_property], n[$answering_property]) IS NOT NULL OR COUNT { (n)-[:APPEARS_IN]->() } > 1)
    RETURN n
  }
  items(after)
}
WITH n, coalesce(':' + CASE $label WHEN 'Image' THEN n.storage_key ELSE n.text_hash END, '') AS text, n[$mark_property] AS mark
WHERE (mark IS NULL OR NOT mark IN [$mark + text, $refused + text] OR n[$time_property] < $forced_at)
  AND ($selection = 'due' OR ($selection = 'missing') = (coalesce(mark, n[$answering_property]) IS NULL))
RETURN n.source_id AS source_id, n.document_id AS document_id, n.paragraph AS paragraph, n.heading AS heading,
       n.start AS start, n.full_text AS full_text, n.content_hash AS content_hash, n.concept_id AS concept_id,
       n.label AS label, n.description AS description, n.search_terms AS search_terms, n.text_hash AS text_hash, n.storage_key AS storage_key,
       n.relation_id AS relation_id, n.statement AS statement, n.quote AS quote, n.type_id AS type_id, n.name AS name
LIMIT $limit

// name: flag
// Flag a batch of sources of an ontology with another mark. Extra flags do no harm, because readers check the mark.
// Sources are locked in the common order.
CYPHER 25
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  AND coalesce(s[$mark_property], '') <> $mark AND s[$flag] IS NULL
WITH s LIMIT $limit
WITH s ORDER BY s.source_id
SET s[$flag] = true
RETURN count(s) AS flagged

// name: forget_vectors
// Delete vectors and marks of a space from a batch of nodes, by id.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) WHERE n.source_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.source_id AS id ORDER BY id LIMIT $limit
  }
  WHEN $label = 'Concept' THEN {
    MATCH (n:Concept) WHERE n.concept_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.concept_id AS id ORDER BY id LIMIT $limit
  }
  WHEN $label = 'RELATED_TO' THEN {
    MATCH ()-[n:RELATED_TO]->() WHERE n.relation_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.relation_id AS id ORDER BY id LIMIT $limit
  }
  WHEN $label = 'RelationType' THEN {
    MATCH (n:RelationType) WHERE n.type_id > $after AND ($ontology IS NULL OR n.ontology = $ontology)
    RETURN n, n.type_id AS id ORDER BY id LIMIT $limit
  }
}
FOREACH (name IN $properties | SET n[name] = null)
RETURN max(id) AS last

// name: refuse
// Mark a node as rejected by the model with the reason, if its text or file is unchanged. Only full text finds it.
// The node is locked before the comparison.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN { MATCH (n:Source {source_id: $id}) RETURN n }
  WHEN $label = 'Concept' THEN { MATCH (n:Concept {concept_id: $id}) RETURN n }
  WHEN $label = 'RELATED_TO' THEN { MATCH ()-[n:RELATED_TO {relation_id: $id}]->() RETURN n }
  WHEN $label = 'RelationType' THEN { MATCH (n:RelationType {type_id: $id}) RETURN n }
  WHEN $label = 'Image' THEN { MATCH (n:Source {source_id: $id}) WHERE n:Image RETURN n }
}
SET n.held_at = datetime.realtime()
WITH n, CASE $label WHEN 'Image' THEN n.storage_key ELSE n.text_hash END AS made_for
WHERE CASE $label WHEN 'Source' THEN n.content_hash ELSE made_for END = $text_hash
SET n[$mark_property] = $refused + coalesce(':' + made_for, ''), n[$time_property] = datetime.realtime(),
    n[$refusal_property] = $reason, n[$property] = null, n.held_at = null,
    n.unembedded = CASE $label WHEN 'Source' THEN true ELSE n.unembedded END
RETURN $id AS id

// name: retry_refused
// Make rejected nodes pending again.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN {
    MATCH (n:Source) USING INDEX SEEK n:Source(ontology, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.document_id >= '' AND n.paragraph >= 0 RETURN n
  }
  items()
}
WITH n
WHERE n[$mark_property] STARTS WITH $refused
SET n[$mark_property] = null, n[$refusal_property] = null,
    n.unembedded = CASE $label WHEN 'Source' THEN true ELSE n.unembedded END
RETURN count(n) AS retried

// name: write_vectors
// Write the vectors of items with an unchanged text or file. Each item is locked before the comparison. Concepts are
// flagged for new links to their neighbours.
CYPHER 25
UNWIND $rows AS row
CALL (row) {
  WHEN $label = 'Concept' THEN {
    MATCH (n:Concept) USING INDEX SEEK n:Concept(ontology, concept_id)
    WHERE n.ontology = $ontology AND n.concept_id = row.id
    SET n.held_at = datetime.realtime()
    WITH n, row
    WHERE n.text_hash = row.text_hash
    CALL db.create.setNodeVectorProperty(n, $property, toFloatList(row.vector))
    SET n:Unlinked
    RETURN n
  }
  WHEN $label = 'Image' THEN {
    MATCH (n:Source {source_id: row.id})
    WHERE n:Image
    SET n.held_at = datetime.realtime()
    WITH n, row
    WHERE n.storage_key = row.text_hash
    CALL db.create.setNodeVectorProperty(n, $property, toFloatList(row.vector))
    RETURN n
  }
  WHEN $label = 'RELATED_TO' THEN {
    MATCH ()-[n:RELATED_TO {relation_id: row.id}]->()
    SET n.held_at = datetime.realtime()
    WITH n, row
    WHERE n.text_hash = row.text_hash
    CALL db.create.setRelationshipVectorProperty(n, $property, toFloatList(row.vector))
    RETURN n
  }
  WHEN $label = 'RelationType' THEN {
    MATCH (n:RelationType {type_id: row.id})
    SET n.held_at = datetime.realtime()
    WITH n, row
    WHERE n.text_hash = row.text_hash
    CALL db.create.setNodeVectorProperty(n, $property, toFloatList(row.vector))
    RETURN n
  }
}
SET n[$mark_property] = $mark + ':' + row.text_hash, n[$time_property] = datetime.realtime(),
    n[$refusal_property] = null, n.held_at = null
RETURN row.id AS id
