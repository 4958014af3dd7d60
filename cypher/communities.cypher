// name: clear
// Lock an ontology, delete its communities, and set the summary of the next ones. No row means that it was deleted.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime(), o.communities = $summary, o.communities_at = $at
WITH o
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation >= ''
  DETACH DELETE c
}
RETURN o.name AS ontology

// name: concepts
// Return the next concepts of an ontology by id: whether each has enough ties, and the targets of its relationships
// and links with counts.
MATCH (c:Concept)
USING INDEX SEEK c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id > $after
WITH c ORDER BY c.ontology, c.concept_id LIMIT $limit
WITH c, COUNT { (c)-[:APPEARS_IN]->() } + COUNT { (c)-[:RELATED_TO|LINKED_TO]-() } >= $least AS tied
RETURN c.concept_id AS concept_id, tied,
       CASE WHEN tied THEN COLLECT {
         MATCH (c)-[:RELATED_TO|LINKED_TO]->(o:Concept)
         WITH o, count(*) AS times ORDER BY o.concept_id
         RETURN [o.concept_id, times]
       } ELSE [] END AS related
ORDER BY concept_id

// name: find
// Return communities with an id prefix. More than one is ambiguous.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  USING INDEX SEEK c:Community(generation, community_id)
  WHERE c.ontology = o.name AND c.generation = '' AND c.community_id STARTS WITH $prefix
  RETURN c LIMIT $limit
}
RETURN o.communities_at AS at, c {.community_id, size: size(c.concept_ids),
  labels: COLLECT {
    UNWIND range(0, coalesce(size(c.concept_ids[..$named]), 0) - 1) AS at
    MATCH (k:Concept {concept_id: c.concept_ids[at]})
    WITH k.label AS label, at WHERE label IS NOT NULL
    RETURN label ORDER BY at
  }} AS community
ORDER BY community.community_id

// name: members
// Return the concepts of a community, most central first.
MATCH (c:Community {generation: '', community_id: $community_id})
UNWIND range(0, coalesce(size(c.concept_ids), 0) - 1) AS at
MATCH (k:Concept {concept_id: c.concept_ids[at]})
WITH k, at, c.weights[at] AS weight ORDER BY at LIMIT $limit
RETURN k.concept_id AS concept_id, k.ontology AS ontology, k.label AS label, k.description AS description,
       k.search_terms AS search_terms, COUNT { (k)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (k)-[:EVIDENCED_BY]->() } AS verified, weight
ORDER BY at

// name: page
// Return communities, largest first, with the labels for their names.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community {ontology: o.name, generation: '', level: 0})
  USING INDEX SEEK c:Community(ontology, generation, level, place)
  WHERE c.place IS NOT NULL
  WITH c ORDER BY c.place
  RETURN collect(c) AS found
}
RETURN o.name AS ontology, o.communities AS communities, o.communities_at AS at, size(found) AS total,
       COLLECT {
         UNWIND found[$offset..$offset + $limit] AS c
         RETURN c {.community_id, size: size(c.concept_ids),
           labels: COLLECT {
             UNWIND range(0, coalesce(size(c.concept_ids[..$named]), 0) - 1) AS at
             MATCH (k:Concept {concept_id: c.concept_ids[at]})
             WITH k.label AS label, at WHERE label IS NOT NULL
             RETURN label ORDER BY at
           }}
       } AS found

// name: passages
// Return the main sources of a community, by the weights of its first concepts in them.
MATCH (c:Community {generation: '', community_id: $community_id})
UNWIND range(0, coalesce(size(c.concept_ids[..$most_concepts]), 0) - 1) AS at
MATCH (k:Concept {concept_id: c.concept_ids[at]})-[:APPEARS_IN]->(s:Source)
WITH s, sum(c.weights[at]) AS weight, count(*) AS concepts
WHERE concepts > 1
ORDER BY weight DESC, s.source_id LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text, weight, concepts
ORDER BY weight DESC, source_id

// name: size
// Count concepts, relationships and sources of an ontology, and the sources of documents written since a time.
CALL () {
  MATCH (c:Concept)
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(c) AS concepts
}
CALL () {
  MATCH ()-[r:RELATED_TO]->()
  WHERE r.ontology = $ontology AND r.relation_id > ''
  RETURN count(r) AS relationships
}
CALL () {
  MATCH (d:Document)
  WHERE d.ontology = $ontology AND d.document >= ''
  RETURN coalesce(sum(d.sources), 0) AS sources,
         coalesce(sum(CASE WHEN d.updated_at > $since THEN d.sources END), 0) AS written
}
RETURN concepts, relationships, sources, written, datetime.realtime() AS at

// name: sources
// Return the next sources of an ontology in reading order, with their concepts.
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE s.document_id > $after OR s.paragraph > $after_paragraph
WITH s LIMIT $limit
RETURN s.document_id AS document_id, s.paragraph AS paragraph,
       COLLECT { MATCH (s)<-[:APPEARS_IN]-(c:Concept) RETURN c.concept_id } AS concept_ids
ORDER BY document_id, paragraph

// name: state
// Return the summary of each ontology's communities and the time of their read.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.communities AS summary, o.communities_at AS at
ORDER BY ontology

// name: ties
// Count the concepts of an ontology by number of ties: sources, relationships and links.
MATCH (c:Concept)
USING INDEX SEEK c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id >= ''
WITH COUNT { (c)-[:APPEARS_IN]->() } + COUNT { (c)-[:RELATED_TO|LINKED_TO]-() } AS ties
RETURN ties, count(*) AS concepts
ORDER BY ties DESC

// name: write
// Write the communities of an ontology that the caller has locked. Generation and level are constants of the index.
UNWIND $rows AS row
CREATE (c:Community {generation: '', community_id: row.community_id, ontology: $ontology, level: 0, place: row.place,
  concept_ids: row.concept_ids, weights: row.weights})
RETURN count(c) AS written
