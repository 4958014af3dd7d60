// name: any_of
// Whether sources of some ontologies state any relationship.
UNWIND $ontologies AS name
MATCH ()-[r:RELATED_TO]->()
WHERE r.ontology = name AND r.relation_id > ''
RETURN r.relation_id AS relation_id
LIMIT 1

// name: being_renamed
// Merges of types, or their undoings, after which relationships may still have their old names; all, or one.
MATCH (m:TypeMerge)
WHERE m.renaming IS NOT NULL AND ($merge_id IS NULL OR m.merge_id = $merge_id)
RETURN m.merge_id AS merge_id, m.ontology AS ontology, m.merged AS merged, m.renaming AS renaming
ORDER BY m.at

// name: delete_unused_types
// Types that nothing is stated with go, but for those that somebody has said something of: merged, or given a stance.
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
// Locks types of an ontology, in the order of their ids; and what each was merged into, and how
// many relationships are of it and of what was merged into it. Whoever writes relationships of
// one waits.
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
// Types become part of another, and it is recorded: what, how many relationships, who and when; and that their
// relationships are being renamed.
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
// What was merged in an ontology, the last first.
MATCH (m:TypeMerge)
WHERE m.ontology = $ontology AND ($merge_id IS NULL OR m.merge_id = $merge_id)
WITH m ORDER BY m.at DESC, m.merge_id
WITH collect(m {.merge_id, .ontology, .into, .merged, .relations, .by, .at, .undone_at, .undone_by}) AS found
RETURN size(found) AS total, found[$offset..$offset + $limit] AS merges

// name: read
// Some relationships with both concepts, the source that states each, and how many sources state the same. A quote's
// place is counted in its source. The same is looked for among so many relationships between both.
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
// A portion of the relationships of some types, and of those that were merged into these, gets the type that the
// vocabulary makes of the one that is stated; 0: all have it.
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
// The relationships of a merge have their names, unless it was undone meanwhile: that renames again.
MATCH (m:TypeMerge {merge_id: $merge_id})
SET m.held_at = datetime.realtime()
WITH m
WHERE m.renaming = $renaming
REMOVE m.renaming
RETURN count(m) AS renamed

// name: resolve_types
// What the vocabularies of some ontologies make of types: the types that they were merged into.
UNWIND $type_ids AS id
MATCH (t:RelationType {type_id: id})-[:MERGED_INTO*0..20]->(k:RelationType)
WHERE NOT (k)-[:MERGED_INTO]->()
RETURN t.key AS given, k.key AS key

// name: sample
// Some relationships of an ontology.
MATCH ()-[r:RELATED_TO]->()
WHERE r.ontology = $ontology AND r.relation_id > ''
RETURN r.relation_id AS relation_id, r.statement AS statement, r.quote AS quote, r.text_hash AS text_hash
LIMIT $limit

// name: search_by_vector
// The relationships of a space nearest to a vector, of some ontologies; the filter runs inside the index, which answers
// with quantised vectors: the exact cosine puts its answers in their right order.
CYPHER 25
MATCH ()-[n:RELATED_TO]->()
SEARCH n IN (VECTOR INDEX relation_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
RETURN n.relation_id AS relation_id, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, relation_id

// name: search_by_vector_of_types
// As `search_by_vector`, only of some types; that filter, too, runs inside the index.
CYPHER 25
MATCH ()-[n:RELATED_TO]->()
SEARCH n IN (VECTOR INDEX relation_embedding FOR $vector WHERE n.ontology IN $ontologies AND n.type_key IN $types LIMIT $limit) SCORE AS approximate
RETURN n.relation_id AS relation_id, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, relation_id

// name: search_in_documents
// The relationships that sources of some documents state, nearest to a vector by exact cosines. Of the documents so
// many sources and relationships are looked at, and it is told whether these are all.
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
// What a type says for or against, as somebody says; none: by its name.
MATCH (t:RelationType {type_id: $type_id})
SET t.stance = $stance
RETURN t.type_id AS type_id

// name: speaking_of
// What is stated of a concept with types that say something for or against it: those of which it is the object, and
// those of which it is the subject, with the sources that state it, the surest first. Only so many relationships of it
// are looked at.
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
// The types of an ontology that are not part of another, with what was said of them for or against; and what goes by
// the same name in other ontologies says nothing here.
MATCH (t:RelationType)
WHERE t.ontology = $ontology AND t.type_id > '' AND NOT (t)-[:MERGED_INTO]->()
  AND (t.stance IS NOT NULL OR t.key IN $known)
RETURN t.key AS key, t.name AS name, t.stance AS stance

// name: type_examples
// What is stated with some types, as sources say it, and of which pairs of concepts; of each so many are looked at.
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
// The names of types in some ontologies, at most so many.
UNWIND $ontologies AS ontology
MATCH (t:RelationType)
WHERE t.ontology = ontology AND t.type_id > ''
WITH t LIMIT $limit
RETURN DISTINCT t.name AS name
ORDER BY name

// name: type_vectors
// The vectors of some types' names.
UNWIND $ids AS id
MATCH (t:RelationType {type_id: id})
WHERE t[$property] IS NOT NULL
RETURN t.type_id AS type_id, t[$property] AS vector

// name: types
// The types of an ontology, what each was merged into, and how many relationships are stated with it.
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
// A merge is taken back, once; the ids of the types that are on their own again.
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
// The types of relationships that an ontology's sources state. Those that are there are locked: nobody merges a type
// while relationships of it come in.
UNWIND $rows AS row
MERGE (t:RelationType {type_id: row.type_id})
ON CREATE SET t.ontology = $ontology, t.name = row.name, t.key = row.key, t.text_hash = row.text_hash,
              t.created_at = datetime.realtime()
SET t.held_at = datetime.realtime()
