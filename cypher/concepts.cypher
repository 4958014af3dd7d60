// name: any_of
// Check whether ontologies have a concept.
MATCH (c:Concept)
WHERE c.ontology IN $ontologies AND c.concept_id >= ''
RETURN c.concept_id AS concept_id
LIMIT 1

// name: appearances
// Return the sources that contain a concept with its quotes, verified appearances first.
MATCH (c:Concept {concept_id: $concept_id})-[a:APPEARS_IN]->(s:Source)
WITH c, a, s ORDER BY coalesce(a.verified, false) DESC, a.confidence DESC, s.document, s.document_id, s.paragraph
LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text,
       COLLECT {
         MATCH (s)<-[:FROM_SOURCE]-(i:Instance)<-[:EVIDENCED_BY]-(c)
         RETURN i {.instance_id, .quote, .start, .end, .score} ORDER BY i.start, i.instance_id
       } AS quotes,
       coalesce(a.unverified, []) AS unverified
ORDER BY coalesce(a.verified, false) DESC, a.confidence DESC, document, document_id, paragraph

// name: appearing_with
// Return the concepts that share sources with a concept, most shared sources first. The number of read sources is
// limited.
MATCH (c:Concept {concept_id: $concept_id})
CALL (c) {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH c, s LIMIT $scanned
  MATCH (s)<-[:APPEARS_IN]-(o:Concept)
  WHERE o <> c
  WITH o, collect(DISTINCT s.source_id) AS shared
  ORDER BY size(shared) DESC, o.concept_id
  LIMIT $limit
  RETURN o, shared
}
RETURN shared[..$most_sources] AS stated, size(shared) AS support, o.concept_id AS concept_id, o.ontology AS ontology,
       o.label AS label, o.description AS description, o.search_terms AS search_terms,
       COUNT { (o)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (o)-[:EVIDENCED_BY]->() } AS verified
ORDER BY support DESC, concept_id

// name: before
// Return the last embedded concepts up to an id: the last batch of a crashed worker.
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id <= $last AND c[$mark_property] STARTS WITH $mark + ':'
WITH c ORDER BY c.ontology DESC, c.concept_id DESC
RETURN c.concept_id AS concept_id
LIMIT $limit

// name: count_evidence
MATCH (c:Concept {concept_id: $concept_id})
RETURN COUNT { (c)-[:EVIDENCED_BY]->() } AS quotes

// name: count_fresh
// Count the concepts without a vector of their current text that will get one: concepts with several sources, or with
// an earlier vector. In all spaces, marks end with the hash of the text.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH c, [key IN keys(c) WHERE key = $marks OR key STARTS WITH $marks + '_' | c[key]] AS marks
WHERE none(mark IN marks WHERE mark ENDS WITH ':' + c.text_hash)
  AND ($wants_all OR size(marks) > 0 OR COUNT { (c)-[:APPEARS_IN]->() } > 1)
RETURN count(c) AS fresh

// name: delete_orphans
// Delete concepts without sources, with their names. The caller has locked them. Open proposals are deleted. Decided
// proposals keep only their decision, without texts.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WHERE NOT EXISTS { (c)-[:APPEARS_IN]->(:Source) }
CALL (c) {
  MATCH (c)<-[:PROPOSES]-(p:Proposal)
  WITH DISTINCT p
  OPTIONAL MATCH (p)-[end:PROPOSES]->()
  WITH p, collect(end) AS ends
  FOREACH (end IN ends | DELETE end)
  SET p.reason = null, p.score = null, p.similarity = null
  WITH p
  WHERE p.state = 'open'
  DETACH DELETE p
}
OPTIONAL MATCH (n:ConceptName)-[:NAMES]->(c)
OPTIONAL MATCH (c)-[:EVIDENCED_BY]->(i:Instance)
WITH c, collect(DISTINCT n) AS names, collect(DISTINCT i) AS quotes
FOREACH (n IN names | DETACH DELETE n)
FOREACH (i IN quotes | DETACH DELETE i)
DETACH DELETE c

// name: expand_appearing
// Return a limited number of concepts in the same sources for each concept, most shared sources first.
UNWIND $concept_ids AS concept_id
MATCH (c:Concept {concept_id: concept_id})
CALL (c) {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH c, s LIMIT $scanned
  MATCH (s)<-[:APPEARS_IN]-(o:Concept)
  WHERE o <> c
  WITH o, count(*) AS support ORDER BY support DESC, o.concept_id
  WITH collect(o.concept_id) AS found
  RETURN found[..$fan_out] AS neighbours, size(found) AS number
}
RETURN concept_id, neighbours, number > $fan_out OR COUNT { (c)-[:APPEARS_IN]->() } > $scanned AS cut

// name: expand_related
// Return a limited number of concepts with a relationship or link for each concept, most statements first.
UNWIND $concept_ids AS concept_id
MATCH (c:Concept {concept_id: concept_id})
CALL (c) {
  MATCH (c)-[:RELATED_TO|LINKED_TO]-(o:Concept)
  WHERE o <> c
  WITH o LIMIT $scanned
  WITH o, count(*) AS support ORDER BY support DESC, o.concept_id
  WITH collect(o.concept_id) AS found
  RETURN found[..$fan_out] AS neighbours, size(found) AS number
}
RETURN concept_id, neighbours, number > $fan_out OR COUNT { (c)-[:RELATED_TO|LINKED_TO]-() } > $scanned AS cut

// name: find_names
// Return the concepts of names.
UNWIND $name_ids AS id
MATCH (n:ConceptName {name_id: id})-[:NAMES]->(c:Concept)
RETURN n.name_id AS name_id, c.concept_id AS concept_id

// name: forget_appearances
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})<-[a:APPEARS_IN]-(c:Concept)
WHERE c.concept_id = row.concept_id
DELETE a

// name: forget_near
// Delete the similarity links of a batch of concepts in some spaces, by id.
MATCH (c:Concept)
WHERE c.concept_id > $after AND ($ontology IS NULL OR c.ontology = $ontology)
WITH c ORDER BY c.concept_id LIMIT $limit
CALL (c) {
  MATCH (c)-[r:NEAR_TO]->()
  WHERE r.space IN $spaces
  DELETE r
}
RETURN max(c.concept_id) AS last

// name: forget_of_sources
// Delete the evidence of sources.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WITH collect(s) AS gone
CALL (gone) {
  UNWIND gone AS s
  MATCH ()-[r:RELATED_TO]->()
  USING INDEX r:RELATED_TO(source_id)
  WHERE r.source_id = s.source_id
  DELETE r
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)<-[:FROM_SOURCE]-(i:Instance)
  DETACH DELETE i
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)<-[a:APPEARS_IN]-(:Concept)
  DELETE a
}

// name: forget_quotes
UNWIND $ids AS id
MATCH (i:Instance {instance_id: id})
DETACH DELETE i

// name: forget_relations
UNWIND $ids AS id
MATCH ()-[r:RELATED_TO {relation_id: id}]->()
DELETE r

// name: hold
// Lock concepts by id and return their current state. Deleted concepts are skipped, also if the deletion happens
// during the wait for the lock. The index is not unique, because Neo4j locks entries of unique indexes. A waiting
// transaction would block the deletion.
UNWIND $ids AS id
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id = id
SET c.held_at = datetime.realtime()
WITH c, id
WHERE c.concept_id = id
RETURN c.concept_id AS concept_id, c.label AS label, c.description AS description, c.search_terms AS search_terms,
       c.text_hash AS text_hash

// name: hold_of_sources
// Lock sources and return their concepts, and whether each has a description or terms. No concept is added before the
// transaction ends.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
SET s.held_at = datetime.realtime()
WITH collect(s) AS held
UNWIND held AS s
MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
RETURN c.ontology AS ontology, c.concept_id AS concept_id,
       count(a.description) + count(a.terms) > 0 AS said
ORDER BY concept_id

// name: hold_sources
// Lock extracted sources so that changes happen before or after, and return the unchanged ones with their concepts.
// Block kinds count if the extractor used them and they are stored. No concept is added before the transaction ends.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash AND s.ontology = $ontology
  AND coalesce(s.block_kinds = row.block_kinds, true)
WITH s, COLLECT { MATCH (s)<-[:APPEARS_IN]-(c:Concept) RETURN c.concept_id } AS concept_ids
RETURN s.source_id AS source_id, s.full_text AS full_text, concept_ids,
       size(concept_ids) > 0 OR EXISTS { (s)<-[:FROM_SOURCE]-() } AS is_evidence

// name: link_near
// Replace the similarity links of concepts in one space. Concepts without a vector are skipped.
CYPHER 25
UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.concept_id})
SET c.held_at = datetime.realtime()
WITH c, row
WHERE c[$property] IS NOT NULL
SET c[$near_property] = datetime.realtime()
WITH c, row
CALL (c) {
  MATCH (c)-[old:NEAR_TO {space: $space}]->()
  DELETE old
}
UNWIND row.near AS near
MATCH (n:Concept {concept_id: near.concept_id})
MERGE (c)-[r:NEAR_TO {space: $space}]->(n)
SET r.cosine = near.cosine

// name: make_names
// Create names in the order of their ids, and return the concepts of existing ones. A concurrent extraction waits
// here, so both create one concept.
UNWIND $rows AS row
MERGE (n:ConceptName {name_id: row.name_id})
ON CREATE SET n.ontology = $ontology, n.name = row.name
WITH n
MATCH (n)-[:NAMES]->(c:Concept)
RETURN n.name_id AS name_id, c.concept_id AS concept_id

// name: mark_sources
// Mark sources as extracted, with errors and counts of unverified quotes, and flag them for link proposals. The
// unread flag stays if sources are flagged for another extractor.
OPTIONAL MATCH (o:Ontology {name: $ontology})
WITH CASE WHEN o.unread_for <> 'extracted_with:' + $mark THEN true END AS unread
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s:Unlinked, s.extracted_with = $mark, s.extracted_at = datetime.realtime(), s.not_extracted_because = row.refused,
    s.unverified_quotes = row.unverified, s.unread = unread

// name: merge_appearances
// Move appearances to the kept concept. In a common source, the higher confidence counts. Descriptions and terms
// are kept.
MATCH (gone:Concept {concept_id: $gone})-[a:APPEARS_IN]->(s:Source)
MATCH (kept:Concept {concept_id: $kept})
WITH gone, kept, a, s, [gone.label] + [term IN coalesce(a.terms, []) WHERE term <> gone.label] AS terms
MERGE (kept)-[b:APPEARS_IN]->(s)
ON CREATE SET b.confidence = a.confidence, b.verified = a.verified, b.extracted_with = a.extracted_with,
              b.description = a.description, b.terms = terms[..$most_terms], b.unverified = a.unverified
ON MATCH SET b.confidence = CASE WHEN a.confidence > b.confidence THEN a.confidence ELSE b.confidence END,
             b.verified = a.verified OR b.verified,
             b.description = coalesce(b.description, a.description),
             b.terms = (coalesce(b.terms, []) + [term IN terms WHERE NOT term IN coalesce(b.terms, [])])[..$most_terms],
             b.unverified = CASE WHEN a.unverified IS NULL THEN b.unverified ELSE (coalesce(b.unverified, [])
               + [said IN a.unverified WHERE NOT said IN coalesce(b.unverified, [])])[..$most_unverified] END
DELETE a

// name: merge_hold_sources
// Lock the sources of a concept and return its related concepts. Writers lock sources before concepts. The index is
// not unique, because entries of unique indexes would be locked (see hold).
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id = $gone
CALL (c) {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH s ORDER BY s.source_id
  SET s.held_at = datetime.realtime()
  RETURN count(s) AS sources
}
RETURN sources, COLLECT { MATCH (c)-[:RELATED_TO|LINKED_TO]-(o:Concept) RETURN DISTINCT o.concept_id } AS related

// name: merge_move_quotes
// Move quotes to the kept concept. Their ids stay the same, because answers cite them.
MATCH (gone:Concept {concept_id: $gone})-[e:EVIDENCED_BY]->(i:Instance)
MATCH (kept:Concept {concept_id: $kept})
MERGE (kept)-[:EVIDENCED_BY]->(i)
DELETE e

// name: merge_names
// Move names to the kept concept, so that later extractions find it, and delete the merged concept. Its open
// proposals are deleted. Decided proposals keep only their decision.
MATCH (gone:Concept {concept_id: $gone})
MATCH (kept:Concept {concept_id: $kept})
CALL (gone, kept) {
  MATCH (n:ConceptName)-[means:NAMES]->(gone)
  MERGE (n)-[:NAMES]->(kept)
  DELETE means
}
CALL (gone) {
  MATCH (gone)<-[:PROPOSES]-(p:Proposal)
  WITH DISTINCT p
  OPTIONAL MATCH (p)-[end:PROPOSES]->()
  WITH p, collect(end) AS ends
  FOREACH (end IN ends | DELETE end)
  SET p.reason = null, p.score = null, p.similarity = null
  WITH p
  WHERE p.state = 'open'
  DETACH DELETE p
}
DETACH DELETE gone

// name: merge_quotes
// Return the quotes of two concepts with positions and scores.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
RETURN c.concept_id AS concept_id, i.instance_id AS instance_id, s.source_id AS source_id, i.start AS start,
       i.end AS end, i.score AS score, i.extracted_with AS extracted_with
ORDER BY instance_id

// name: merge_ranks
// Return concepts in order of priority. The others are merged into the first one.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
RETURN c.concept_id AS concept_id, c.ontology AS ontology
ORDER BY COUNT { (c)-[:APPEARS_IN]->(:Source) } DESC, c.created_at, c.concept_id

// name: merge_relations
// Move relationships to the kept concept with the same ids. Relationships between both concepts are deleted.
MATCH (gone:Concept {concept_id: $gone})-[r:RELATED_TO]-(o:Concept)
WITH DISTINCT r, o, startNode(r) = gone AS outgoing, properties(r) AS said
DELETE r
WITH o, outgoing, said
WHERE NOT o.concept_id IN [$gone, $kept]
MATCH (kept:Concept {concept_id: $kept})
WITH said, CASE WHEN outgoing THEN kept ELSE o END AS a, CASE WHEN outgoing THEN o ELSE kept END AS b
CREATE (a)-[r:RELATED_TO {relation_id: said.relation_id}]->(b)
SET r = said

// name: near
// Return the nearest concepts of an ontology for each given concept, above a minimum cosine in one space. The index
// also returns the concept itself.
CYPHER 25
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WHERE c[$property] IS NOT NULL
WITH c, c[$property] AS own
CALL (c, own) {
  MATCH (n:Concept)
  SEARCH n IN (VECTOR INDEX concept_embedding FOR own WHERE n.ontology = $ontology LIMIT $limit) SCORE AS approximate
  WITH n, 2 * vector.similarity.cosine(n[$property], own) - 1 AS similarity
  WHERE similarity >= $least AND n.concept_id <> c.concept_id
  RETURN n, similarity
}
RETURN c.concept_id AS concept_id, c.label AS label, c.search_terms AS terms, c.text_hash AS text_hash,
       n.concept_id AS near_id, n.label AS near_label, n.search_terms AS near_terms, n.text_hash AS near_text_hash,
       similarity
ORDER BY similarity DESC, concept_id, near_id

// name: present_appearances
// Return the concepts of sources with their descriptions and terms.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[a:APPEARS_IN]-(c:Concept)
RETURN s.source_id AS source_id, c.concept_id AS concept_id, a.confidence AS confidence, a.verified AS verified,
       a.extracted_with AS extracted_with, coalesce(a.description, '') AS description, coalesce(a.terms, []) AS terms,
       coalesce(a.unverified, []) AS unverified

// name: present_quotes
// Return the quotes in sources with their concepts.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[:FROM_SOURCE]-(i:Instance)<-[:EVIDENCED_BY]-(c:Concept)
RETURN s.source_id AS source_id, c.concept_id AS concept_id, i.instance_id AS instance_id, i.start AS start,
       i.end AS end, i.quote AS quote, i.score AS score, i.said AS said, i.extracted_with AS extracted_with

// name: present_relations
// Return the relationships that sources state, with the stated types.
UNWIND $source_ids AS id
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
USING INDEX r:RELATED_TO(source_id)
WHERE r.source_id = id
RETURN r.relation_id AS relation_id, r.source_id AS source_id, a.concept_id AS subject, b.concept_id AS object,
       r.stated_type AS type, r.confidence AS confidence, r.extracted_with AS extracted_with,
       r.statement AS statement, r.quote AS quote, r.start AS start, r.end AS end

// name: read_by_ids
// Return concepts with their numbers of sources.
MATCH (c:Concept)
WHERE c.concept_id IN $concept_ids
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.description AS description,
       c.search_terms AS search_terms, COUNT { (c)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (c)-[:EVIDENCED_BY]->() } AS verified

// name: read_count
MATCH (c:Concept {ontology: $ontology})
WHERE c.concept_id >= ''
RETURN count(c) AS total

// name: read_evidence
// Return the quotes of a concept with their sources, highest score first. Positions are relative to the source.
MATCH (c:Concept {concept_id: $concept_id})-[:EVIDENCED_BY]->(i:Instance)-[:FROM_SOURCE]->(s:Source)
WITH i, s ORDER BY i.score DESC, s.document, s.document_id, s.paragraph, i.start, i.instance_id
LIMIT $limit
RETURN i.instance_id AS instance_id, i.quote AS quote, i.start AS quote_start, i.end AS quote_end, i.score AS score,
       s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text

// name: read_page
// Return the concepts of an ontology, most sources first.
MATCH (c:Concept {ontology: $ontology})
WHERE c.concept_id >= ''
WITH c, COUNT { (c)-[:APPEARS_IN]->() } AS sources
ORDER BY sources DESC, c.label, c.concept_id
SKIP $offset LIMIT $limit
RETURN c.concept_id AS concept_id, c.ontology AS ontology, c.label AS label, c.description AS description,
       c.search_terms AS search_terms, sources, EXISTS { (c)-[:EVIDENCED_BY]->() } AS verified
ORDER BY sources DESC, label, concept_id

// name: read_unverified
// Return the unverified quotes of a concept in reading order, and their number.
MATCH (c:Concept {concept_id: $concept_id})-[a:APPEARS_IN]->(s:Source)
WHERE a.unverified IS NOT NULL
UNWIND a.unverified AS quote
WITH quote, s ORDER BY s.document, s.document_id, s.paragraph, quote
WITH collect({quote: quote, s: s}) AS every
UNWIND every[..$limit] AS each
WITH each.quote AS quote, each.s AS s, size(every) AS total
RETURN quote, total, s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph

// name: related
// Return links and relationships of concepts, links first, then most sources. Statements that differ only in source
// or case are combined. The number of read relationships per concept is limited.
UNWIND $concept_ids AS concept_id
MATCH (c:Concept {concept_id: concept_id})
CALL (c) {
  MATCH (c)-[r:RELATED_TO|LINKED_TO]-(o:Concept)
  WHERE o <> c
  WITH o, r LIMIT $scanned
  WITH o, startNode(r) = c AS outgoing, toLower(r.type) AS folded, min(r.type) AS type,
       max(r.confidence) AS confidence, collect(DISTINCT r.source_id) AS stated, max(type(r) = 'LINKED_TO') AS linked
  ORDER BY linked DESC, size(stated) DESC, confidence DESC, o.concept_id, type, outgoing DESC
  LIMIT $limit
  RETURN o, outgoing, type, confidence, stated, linked
}
RETURN concept_id AS of, outgoing, type, confidence, stated[..$most_sources] AS stated, size(stated) AS support,
       o.concept_id AS concept_id, o.ontology AS ontology, o.label AS label, o.description AS description,
       o.search_terms AS search_terms, COUNT { (o)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (o)-[:EVIDENCED_BY]->() } AS verified
ORDER BY linked DESC, support DESC, confidence DESC, concept_id, type, outgoing DESC, of

// name: said
// Return the best description and the best terms of concepts from their sources. Concepts without either are
// included. Deleted concepts are not.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
CALL (c) {
  MATCH (c)-[a:APPEARS_IN]->(s:Source)
  WHERE a.description IS NOT NULL
  WITH a, s ORDER BY a.verified DESC, a.confidence DESC, s.source_id
  LIMIT 1
  RETURN collect(a.description) AS descriptions
}
CALL (c) {
  MATCH (c)-[a:APPEARS_IN]->(s:Source)
  WHERE a.terms IS NOT NULL
  WITH a, s ORDER BY a.verified DESC, a.confidence DESC, s.source_id
  LIMIT $limit
  RETURN collect(a.terms) AS terms
}
RETURN c.concept_id AS concept_id, c.label AS label, descriptions, terms

// name: sample
// Return some concepts of an ontology, to estimate the cost of embedding.
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id > ''
RETURN c.concept_id AS concept_id, c.label AS label, c.description AS description, c.search_terms AS search_terms,
       c.text_hash AS text_hash
LIMIT $limit

// name: search_by_name
// Find concepts by their exact label, search term, or label before a merge.
UNWIND $name_ids AS name_id
MATCH (:ConceptName {name_id: name_id})-[:NAMES]->(c:Concept)
WITH DISTINCT c, coalesce($spaces[c.ontology], 'default') AS space
WITH c, $vectors[space] AS asked, c[$properties[space]] AS vector
WITH c, asked, vector, COUNT { (c)-[:APPEARS_IN]->() } AS sources
ORDER BY sources DESC, c.concept_id LIMIT $limit
RETURN collect({
  concept_id: c.concept_id, ontology: c.ontology, label: c.label, description: c.description,
  search_terms: c.search_terms, sources: sources, verified: EXISTS { (c)-[:EVIDENCED_BY]->() },
  similarity: CASE WHEN asked IS NOT NULL AND vector IS NOT NULL
                   THEN 2 * vector.similarity.cosine(vector, asked) - 1 END,
  without_vector: asked IS NOT NULL AND vector IS NULL
}) AS found

// name: search_by_text
// Find concepts by full text, with their similarity if query and concept have vectors in the same space. If the index
// ignores all words of the query, only its filter matches, with a score of 0.
CALL db.index.fulltext.queryNodes('concept_words', $query, {limit: $limit}) YIELD node AS c, score
WHERE score > 0
WITH c, score, coalesce($spaces[c.ontology], 'default') AS space
WITH c, score, $vectors[space] AS asked, c[$properties[space]] AS vector ORDER BY score DESC, c.concept_id
RETURN collect({
  concept_id: c.concept_id, ontology: c.ontology, label: c.label, description: c.description,
  search_terms: c.search_terms, sources: COUNT { (c)-[:APPEARS_IN]->() },
  verified: EXISTS { (c)-[:EVIDENCED_BY]->() },
  similarity: CASE WHEN asked IS NOT NULL AND vector IS NOT NULL
                   THEN 2 * vector.similarity.cosine(vector, asked) - 1 END,
  without_vector: asked IS NOT NULL AND vector IS NULL, score: score
}) AS found

// name: search_by_vector
// Return the nearest concepts of a space in some ontologies, with a filter inside the index. The exact
// cosine orders the results, also if the index of an earlier version is quantised.
CYPHER 25
MATCH (n:Concept)
SEARCH n IN (VECTOR INDEX concept_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, n.concept_id
RETURN collect({
  concept_id: n.concept_id, ontology: n.ontology, label: n.label, description: n.description,
  search_terms: n.search_terms, sources: COUNT { (n)-[:APPEARS_IN]->() },
  verified: EXISTS { (n)-[:EVIDENCED_BY]->() }, similarity: similarity
}) AS found

// name: sources_shared
// Return the sources that contain both concepts of each pair.
UNWIND $pairs AS pair
MATCH (a:Concept {concept_id: pair[0]})
MATCH (b:Concept {concept_id: pair[1]})
CALL (a, b) {
  MATCH (a)-[:APPEARS_IN]->(s:Source)<-[:APPEARS_IN]-(b)
  WITH DISTINCT s LIMIT $most_sources
  RETURN collect(s.source_id) AS shared
}
RETURN pair[0] AS first, pair[1] AS second, shared

// name: statements_between
// Return the best supported relationship or link of each pair of concepts, in either direction.
UNWIND $pairs AS pair
MATCH (a:Concept {concept_id: pair[0]})
MATCH (b:Concept {concept_id: pair[1]})
CALL (a, b) {
  MATCH (a)-[r:RELATED_TO|LINKED_TO]-(b)
  WITH a, b, r LIMIT $scanned
  WITH startNode(r) = a AS forward, toLower(r.type) AS folded, min(r.type) AS type,
       max(r.confidence) AS confidence, collect(DISTINCT r.source_id) AS stated
  RETURN forward, type, stated
  ORDER BY size(stated) DESC, confidence DESC, type, forward DESC
  LIMIT 1
}
RETURN pair[0] AS first, pair[1] AS second, forward, type, stated[..$most_sources] AS stated

// name: unmark_sources
// Set sources that lost their evidence to pending, in case they are not deleted.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
SET s.extracted_with = null, s.unread = true

// name: want
// Record the first vector search for an ontology's concepts. From then on, concepts with one source are also
// embedded.
MATCH (o:Ontology {name: $ontology})
WHERE o.concepts_wanted_at IS NULL
SET o.concepts_wanted_at = datetime.realtime()
RETURN o.name AS ontology

// name: write
// Create or update concepts. MERGE allows a repeated transaction.
UNWIND $rows AS row
MERGE (c:Concept {concept_id: row.concept_id})
ON CREATE SET c.ontology = $ontology, c.created_at = datetime.realtime()
SET c.label = row.label, c.description = row.description, c.search_terms = row.search_terms, c.scope = row.scope,
    c.text_hash = row.text_hash, c.changed_at = datetime.realtime()

// name: write_appearances
// Write appearances with descriptions and terms.
UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.concept_id})
MATCH (s:Source {source_id: row.source_id})
MERGE (c)-[a:APPEARS_IN]->(s)
SET a.confidence = row.confidence, a.verified = row.verified, a.extracted_with = row.extracted_with,
    a.description = nullIf(row.description, ''), a.terms = nullIf(row.terms, []),
    a.unverified = nullIf(row.unverified, [])

// name: write_first
// Write the concepts and quotes of sources that have none yet, without lookups of existing appearances. Quotes are
// looked up by id, because a concept may have been merged and separated again.
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

// name: write_names
UNWIND $rows AS row
MATCH (n:ConceptName {name_id: row.name_id})
MATCH (c:Concept {concept_id: row.concept_id})
MERGE (n)-[:NAMES]->(c)

// name: write_quotes
// Write quotes and connect each to its concept and its source.
UNWIND $rows AS row
MATCH (c:Concept {concept_id: row.concept_id})
MATCH (s:Source {source_id: row.source_id})
MERGE (i:Instance {instance_id: row.instance_id})
SET i.ontology = $ontology, i.quote = row.quote, i.start = row.start, i.end = row.end, i.score = row.score,
    i.said = row.said, i.extracted_with = row.extracted_with
MERGE (c)-[:EVIDENCED_BY]->(i)
MERGE (i)-[:FROM_SOURCE]->(s)

// name: write_relations
// Write the relationships that sources state. The type comes from the vocabulary, and the stated type is kept.
UNWIND $rows AS row
MATCH (a:Concept {concept_id: row.subject})
MATCH (b:Concept {concept_id: row.object})
MATCH (t:RelationType {type_id: row.type_id})
CALL (t) {
  MATCH (t)-[:MERGED_INTO*0..20]->(k:RelationType)
  WHERE NOT (k)-[:MERGED_INTO]->()
  RETURN k LIMIT 1
}
MERGE (a)-[r:RELATED_TO {relation_id: row.relation_id}]->(b)
SET r.ontology = row.ontology, r.stated_type = row.type, r.type_id = row.type_id,
    r.type = CASE WHEN k = t THEN row.type ELSE k.name END, r.type_key = k.key,
    r.confidence = row.confidence, r.source_id = row.source_id, r.extracted_with = row.extracted_with,
    r.statement = row.statement, r.quote = row.quote, r.start = row.start, r.end = row.end, r.text_hash = row.text_hash
