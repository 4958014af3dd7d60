// name: any_of
// Check whether sources of ontologies state a relationship.
UNWIND $ontologies AS name
MATCH ()-[r:RELATED_TO]->()
WHERE r.ontology = name AND r.relation_id > ''
RETURN r.relation_id AS relation_id
LIMIT 1

// name: being_renamed
// Return merges of types, or their reversals, whose relationships may still have old names: all, or one.
MATCH (m:TypeMerge)
WHERE m.renaming IS NOT NULL AND ($merge_id IS NULL OR m.merge_id = $merge_id)
RETURN m.merge_id AS merge_id, m.ontology AS ontology, m.merged AS merged, m.renaming AS renaming

// name: delete_unused_types
// Delete types without relationships. Merged types and types with a stance are kept.
MATCH (t:RelationType)
WHERE t.stance IS NULL AND NOT (t)-[:MERGED_INTO]-()
  AND NOT EXISTS { MATCH ()-[r:RELATED_TO]->() WHERE r.type_id = t.type_id }
WITH t LIMIT $limit
WITH t ORDER BY t.type_id
SET t.held_at = datetime.realtime()
WITH t
WHERE t.stance IS NULL AND NOT (t)-[:MERGED_INTO]-()
  AND NOT EXISTS { MATCH ()-[r:RELATED_TO]->() WHERE r.type_id = t.type_id }
DELETE t
RETURN count(t) AS deleted

// name: hold_types
// Lock types by id and return their merge targets and numbers of relationships, including merged types. Writers of
// relationships wait.
UNWIND $ids AS id
MATCH (t:RelationType {type_id: id})
SET t.held_at = datetime.realtime()
WITH t, id
WHERE t.type_id = id
OPTIONAL MATCH (t)-[i:MERGED_INTO]->(k:RelationType)
CALL (t) {
  MATCH (m:RelationType)-[:MERGED_INTO*0..20]->(t)
  MATCH ()-[r:RELATED_TO]->()
  USING INDEX r:RELATED_TO(type_id)
  WHERE r.type_id = m.type_id
  RETURN count(r) AS relations
}
RETURN t.type_id AS type_id, t.name AS name, t.stance AS stance, k.name AS into, k.type_id AS into_id, i.merge_id AS merge_id,
       relations

// name: merge_types
// Merge types and record the merge. The renaming of their relationships starts.
MATCH (k:RelationType {type_id: $into})
CREATE (m:TypeMerge {merge_id: $merge_id, ontology: $ontology, into: k.name, relations: $relations, by: $by,
                     at: datetime.realtime(), renaming: randomUUID()})
WITH k, m
UNWIND $merged AS id
MATCH (t:RelationType {type_id: id})
CREATE (t)-[:MERGED_INTO {merge_id: m.merge_id}]->(k)
WITH m, t ORDER BY t.name
WITH m, collect(t.name) AS names
SET m.merged = names
RETURN m {.merge_id, .ontology, .into, .merged, .relations, .by, .at} AS merge

// name: merges
// Return the merges of an ontology, newest first.
MATCH (m:TypeMerge)
WHERE m.ontology = $ontology AND ($merge_id IS NULL OR m.merge_id = $merge_id)
WITH m ORDER BY m.at DESC, m.merge_id
WITH collect(m {.merge_id, .ontology, .into, .merged, .relations, .by, .at, .undone_at, .undone_by}) AS found
RETURN size(found) AS total, found[$offset..$offset + $limit] AS merges

// name: read
// Return relationships with concepts, source, and the number of sources with the same statement. Positions are
// relative to the source. The search for equal statements is limited.
UNWIND $ids AS id
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
USING INDEX SEEK r:RELATED_TO(relation_id)
WHERE r.relation_id = id
WITH a, b, r.type_key AS type_key, collect(r) AS same
CALL (a, b, type_key) {
  MATCH (a)-[m:RELATED_TO]->(b)
  WITH m LIMIT $scanned
  WHERE m.type_key = type_key
  RETURN count(DISTINCT m.source_id) AS stating
}
UNWIND same AS r
MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, r.type AS type, r.stated_type AS stated_type, type_key,
       r.statement AS statement, r.quote AS quote, r.start AS quote_start, r.end AS quote_end,
       r.confidence AS confidence, r.ontology AS ontology, stating,
       a.concept_id AS subject_id, a.label AS subject_label, b.concept_id AS object_id, b.label AS object_label,
       s.source_id AS source_id, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text

// name: rename
// Set the vocabulary's types for a batch of relationships with these or merged types. 0 means complete.
UNWIND $type_ids AS id
MATCH (t:RelationType)-[:MERGED_INTO*0..20]->(:RelationType {type_id: id})
MATCH (t)-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
MATCH ()-[r:RELATED_TO]->()
USING INDEX r:RELATED_TO(type_id)
WHERE r.type_id = t.type_id AND r.type_key <> k.key
WITH DISTINCT r, t, k LIMIT $limit
SET r.type = CASE WHEN k = t THEN r.stated_type ELSE k.name END, r.type_key = k.key
RETURN count(r) AS renamed

// name: renamed
// Record that the relationships of a merge are renamed, unless it was undone since.
MATCH (m:TypeMerge {merge_id: $merge_id})
SET m.held_at = datetime.realtime()
WITH m
WHERE m.renaming = $renaming
REMOVE m.renaming
RETURN count(m) AS renamed

// name: resolve_types
// Return the types that types of some ontologies are merged into.
UNWIND $type_ids AS id
MATCH (t:RelationType {type_id: id})-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
RETURN t.key AS given, k.key AS key

// name: sample
MATCH ()-[r:RELATED_TO]->()
WHERE r.ontology = $ontology AND r.relation_id > ''
RETURN r.relation_id AS relation_id, r.statement AS statement, r.quote AS quote, r.text_hash AS text_hash
LIMIT $limit

// name: search_by_vector
// Return the nearest relationships of a space in some ontologies, with a filter inside the index. The exact
// cosine orders the results, also if the index of an earlier version is quantised.
CYPHER 25
MATCH ()-[n:RELATED_TO]->()
SEARCH n IN (VECTOR INDEX relation_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
RETURN n.relation_id AS relation_id, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, relation_id

// name: search_by_vector_of_types
// Return results like `search_by_vector`, with a filter by type inside the index.
CYPHER 25
MATCH ()-[n:RELATED_TO]->()
SEARCH n IN (VECTOR INDEX relation_embedding FOR $vector WHERE n.ontology IN $ontologies AND n.type_key IN $types LIMIT $limit) SCORE AS approximate
RETURN n.relation_id AS relation_id, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, relation_id

// name: search_in_documents
// Return the nearest relationships in given documents by exact cosine. The number of read sources and relationships
// is limited, and the result shows whether it is complete.
CALL () {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned + 1
  RETURN count(s) AS sources, sum(COUNT {
    MATCH (:Concept)-[n:RELATED_TO]->(:Concept)
    USING INDEX n:RELATED_TO(source_id)
    WHERE n.source_id = s.source_id
  }) AS relations
}
RETURN sources <= $scanned AND relations <= $scanned AS whole, COLLECT {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned
  MATCH (:Concept)-[n:RELATED_TO]->(:Concept)
  USING INDEX n:RELATED_TO(source_id)
  WHERE n.source_id = s.source_id
  WITH n LIMIT $scanned
  WHERE n.ontology IN $ontologies AND ($types IS NULL OR n.type_key IN $types)
  WITH n, n[$property] AS vector WHERE vector IS NOT NULL
  WITH n, 2 * vector.similarity.cosine(vector, $vector) - 1 AS similarity
  ORDER BY similarity DESC, n.relation_id LIMIT $limit
  RETURN {relation_id: n.relation_id, similarity: similarity}
} AS found

// name: set_stance
// Set the stance of a type. Null derives it from the name.
MATCH (t:RelationType {type_id: $type_id})
SET t.stance = $stance
RETURN t.type_id AS type_id

// name: speaking_of
// Return statements for or against a concept, highest confidence first: with the concept as object of some types, or
// as subject of others. The number of read relationships is limited.
MATCH (c:Concept {concept_id: $concept_id})
CALL (c) {
  MATCH (c)-[r:RELATED_TO]-(o:Concept)
  WITH c, r, o LIMIT $scanned
  WHERE (endNode(r) = c AND r.type_key IN $towards) OR (startNode(r) = c AND r.type_key IN $away)
  RETURN r, o
}
MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, r.type_key AS type_key, r.stated_type AS stated_type, startNode(r) = c AS outgoing,
       r.statement AS statement, r.quote AS quote, r.start AS quote_start, r.end AS quote_end,
       r.confidence AS confidence, s.source_id AS source_id, s.ontology AS ontology, s.document AS document,
       s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end,
       s.page AS page, s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr,
       s.ocr_confidence AS ocr_confidence, s.full_text AS full_text
ORDER BY confidence DESC, relation_id

// name: stances
// Return the types of an ontology that are not merged, with their stances. Other ontologies have no influence.
MATCH (t:RelationType)
WHERE t.ontology = $ontology AND t.type_id > '' AND NOT (t)-[:MERGED_INTO]->()
  AND (t.stance IS NOT NULL OR t.key IN $known)
RETURN t.key AS key, t.name AS name, t.stance AS stance

// name: type_examples
// Return statements of types and their pairs of concepts. The number per type is limited.
UNWIND $types AS key
CALL (key) {
  MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
  USING INDEX r:RELATED_TO(type_id)
  WHERE r.type_id IN key.ids
  WITH r.statement AS statement, a.concept_id + b.concept_id AS pair LIMIT $scanned
  RETURN collect(DISTINCT statement)[..$examples] AS examples, collect(DISTINCT pair) AS pairs
}
RETURN key.type_id AS type_id, examples, pairs

// name: type_names
// Return a limited number of type names in ontologies.
UNWIND $ontologies AS ontology
MATCH (t:RelationType)
WHERE t.ontology = ontology AND t.type_id > ''
WITH t LIMIT $limit
RETURN DISTINCT t.name AS name
ORDER BY name

// name: type_vectors
// Return the vectors of type names.
UNWIND $ids AS id
MATCH (t:RelationType {type_id: id})
WHERE t[$property] IS NOT NULL
RETURN t.type_id AS type_id, t[$property] AS vector

// name: types
// Return the types of an ontology with merge targets and numbers of relationships.
MATCH (t:RelationType)
WHERE t.ontology = $ontology AND t.type_id > ''
MATCH (t)-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
CALL (t) {
  MATCH ()-[r:RELATED_TO]->()
  USING INDEX r:RELATED_TO(type_id)
  WHERE r.type_id = t.type_id
  RETURN count(r) AS relations
}
RETURN t.type_id AS type_id, t.name AS name, t.stance AS stance, k.type_id AS into, relations,
       t[$property] IS NOT NULL AS embedded

// name: unmerge_types
// Undo a merge once, and return the ids of the separated types.
MATCH (m:TypeMerge {merge_id: $merge_id})
WHERE m.ontology = $ontology
SET m.held_at = datetime.realtime()
WITH m
WHERE m.undone_at IS NULL
SET m.undone_at = datetime.realtime(), m.undone_by = $by, m.renaming = randomUUID()
WITH m
MATCH (t:RelationType)-[r:MERGED_INTO {merge_id: m.merge_id}]->(:RelationType)
WHERE t.ontology = m.ontology AND t.type_id > ''
DELETE r
RETURN t.type_id AS type_id

// name: write_types
// Create the types of an ontology's relationships and lock existing ones, so that no merge happens before the
// relationships are written.
UNWIND $rows AS row
MERGE (t:RelationType {type_id: row.type_id})
ON CREATE SET t.ontology = $ontology, t.name = row.name, t.key = row.key, t.text_hash = row.text_hash,
              t.created_at = datetime.realtime()
SET t.held_at = datetime.realtime()
