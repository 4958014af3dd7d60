// name: as_before
// Return the given sources that contain a concept and were not extracted after a time.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[:APPEARS_IN]-(:Concept {concept_id: $concept_id})
WHERE NOT coalesce(s.extracted_at > $at, false)
RETURN s.source_id AS source_id

// name: carriers
// Return the sources that contain a concept, and its names.
MATCH (c:Concept {concept_id: $concept_id})
RETURN COLLECT { MATCH (c)-[:APPEARS_IN]->(s:Source) RETURN s.source_id ORDER BY s.source_id } AS source_ids,
       COLLECT { MATCH (n:ConceptName)-[:NAMES]->(c) RETURN n {.name_id, .name} } AS names

// name: drop_appearances
// Delete appearances that came from a merged concept, unless a quote proves them now.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[a:APPEARS_IN]-(c:Concept {concept_id: $concept_id})
WHERE NOT EXISTS { (c)-[:EVIDENCED_BY]->(:Instance)-[:FROM_SOURCE]->(s) }
DELETE a

// name: forget_names
// Delete names. The next extraction that finds one creates a concept.
UNWIND $name_ids AS id
MATCH (n:ConceptName {name_id: id})
DETACH DELETE n

// name: give_names
// Restore the meaning of names before a merge.
UNWIND $rows AS row
MERGE (n:ConceptName {name_id: row.name_id})
ON CREATE SET n.ontology = $ontology, n.name = row.name
WITH n
OPTIONAL MATCH (n)-[means:NAMES]->(:Concept)
DELETE means
WITH DISTINCT n
MATCH (c:Concept {concept_id: $concept_id})
MERGE (n)-[:NAMES]->(c)

// name: give_relations
// Return relationships to the concept of their start or end before a merge, with the same ids.
UNWIND $rows AS row
MATCH (a:Concept)-[r:RELATED_TO {relation_id: row.relation_id}]->(b:Concept)
MATCH (g:Concept {concept_id: $gone})
WITH r, g, row, a, b, properties(r) AS said
WHERE CASE WHEN row.outgoing THEN a.concept_id = $kept AND b <> g ELSE b.concept_id = $kept AND a <> g END
DELETE r
WITH said, CASE WHEN row.outgoing THEN g ELSE a END AS a, CASE WHEN row.outgoing THEN b ELSE g END AS b
CREATE (a)-[r:RELATED_TO {relation_id: said.relation_id}]->(b)
SET r = said

// name: hold
// Lock a merge record and return its moved data. Also return the latest merge that must be undone first: the kept or
// a linked concept was merged since, or another concept of the same sources was merged into the kept one.
MATCH (m:ConceptMerge {merge_id: $merge_id})
WHERE m.ontology = $ontology
SET m.held_at = datetime.realtime()
RETURN m.undone_at IS NOT NULL AS undone, m.kept_id AS kept, m.gone_id AS gone, m.moved AS moved, m.at AS at,
       COLLECT {
         MATCH (later:ConceptMerge)
         WHERE later.ontology = $ontology AND later.pair >= '' AND later.undone_at IS NULL AND later.at >= m.at AND later <> m
           AND (later.gone_id = m.kept_id OR later.gone_id IN m.linked
                OR later.kept_id = m.kept_id AND EXISTS { (later)-[:MOVED]->(:Source)<-[:MOVED]-(m) })
         RETURN later.merge_id ORDER BY later.at DESC LIMIT 1
       }[0] AS later

// name: list
// Return merges of an ontology, newest first: all, by id, or of one concept.
MATCH (m:ConceptMerge)
WHERE m.ontology = $ontology AND m.pair >= '' AND ($merge_id IS NULL OR m.merge_id = $merge_id)
  AND ($concept_id IS NULL OR m.kept_id = $concept_id)
WITH m ORDER BY m.at DESC, m.merge_id
WITH collect(m {.merge_id, .ontology, .into, .merged, .sources, .reason, .similarity, .at, .undone_at, .undone_by,
               undoable: m.moved IS NOT NULL,
               concept_id: m.kept_id}) AS found
RETURN size(found) AS total, found[$offset..$offset + $limit] AS merges

// name: made_of
// Return the concepts that are merged into given concepts.
UNWIND $ids AS id
MATCH (m:ConceptMerge)
WHERE m.ontology = $ontology AND m.kept_id = id AND m.undone_at IS NULL
RETURN DISTINCT m.gone_id AS gone

// name: moved
// Return the data of two concepts in a batch of sources, complete enough to undo a merge. The query starts at
// sources, because all data of a concept may exceed a transaction's memory.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
RETURN s.source_id AS source_id,
       COLLECT {
         MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
         WITH a, c.concept_id AS of
         WHERE of IN $ids
         RETURN {source_id: s.source_id, concept_id: of, confidence: a.confidence, verified: a.verified,
                 extracted_with: a.extracted_with, description: coalesce(a.description, ''),
                 terms: coalesce(a.terms, []), unverified: coalesce(a.unverified, [])}
       } AS appearances,
       COLLECT {
         MATCH (s)<-[:FROM_SOURCE]-(i:Instance)
         WITH i
         MATCH (i)<-[:EVIDENCED_BY]-(c:Concept)
         WITH i, c.concept_id AS of
         WHERE of IN $ids
         RETURN i {.instance_id, .start, .end, .quote, .score, .said, .extracted_with, source_id: s.source_id,
                   concept_id: of}
       } AS quotes

// name: moved_relations
// Return the relationships of the merged concept with their sources. Relationships with the kept concept have all
// properties.
MATCH (g:Concept {concept_id: $gone})-[r:RELATED_TO]-(o:Concept)
RETURN r.source_id AS source_id, r.relation_id AS relation_id, startNode(r) = g AS outgoing,
       CASE WHEN o.concept_id = $kept THEN
         r {.relation_id, .source_id, .confidence, .extracted_with, .statement, .quote, .start, .end,
            type: r.stated_type, subject: startNode(r).concept_id, object: endNode(r).concept_id}
       END AS between

// name: parted
// Return the pairs of concepts whose merge was undone.
MATCH (m:ConceptMerge)
WHERE m.ontology = $ontology AND m.undone_at IS NOT NULL
RETURN DISTINCT m.pair AS pair

// name: prove
// Update which appearances are proved, after quotes moved between concepts.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[a:APPEARS_IN]-(c:Concept)
WHERE c.concept_id IN $ids
SET a.verified = EXISTS { (c)-[:EVIDENCED_BY]->(:Instance)-[:FROM_SOURCE]->(s) }

// name: read_again
// Flag and count sources that were extracted while two concepts were merged, because their concepts may be either.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})-[:APPEARS_IN]->(s:Source)
WHERE s.extracted_at > $at
WITH DISTINCT s
SET s.extracted_with = null, s.unread = true
RETURN count(s) AS sources

// name: record
// Record a merge: both concepts, reason, names and links. `record_rows` stores the moved data at the sources.
CREATE (m:ConceptMerge {merge_id: $merge_id, ontology: $ontology, pair: $pair, kept_id: $kept, gone_id: $gone, into: $into,
                        merged: $merged, sources: $sources, reason: $reason, similarity: $similarity, moved: $moved, linked: $linked,
                        at: datetime.realtime()})
RETURN m.merge_id AS merge_id

// name: record_rows
// Store the moved data of a merge at its sources, so that it is deleted with them.
UNWIND $rows AS row
MATCH (m:ConceptMerge {merge_id: $merge_id})
MATCH (s:Source {source_id: row.source_id})
CREATE (m)-[:MOVED {row: row.row}]->(s)

// name: rows
// Return the moved data of a merge in existing sources.
MATCH (m:ConceptMerge {merge_id: $merge_id})-[r:MOVED]->(:Source)
RETURN r.row AS row

// name: undone
// Mark a merge as undone, so that this pair is never merged again, and delete its moved data.
MATCH (m:ConceptMerge {merge_id: $merge_id})
SET m.undone_at = datetime.realtime(), m.undone_by = $by
REMOVE m.moved
WITH m
MATCH (m)-[r:MOVED]->(:Source)
DELETE r
