// name: begin
// Start a generation. It replaces the unpublished generation of any other job.
MATCH (o:Ontology {name: $ontology})
SET o.communities_building = $generation
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

// name: discard
// Delete a batch of communities that are neither published nor being written, after their memberships.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation >= ''
    AND NOT c.generation IN [coalesce(o.communities_generation, ''), coalesce(o.communities_building, '')]
  WITH c LIMIT $limit
  DETACH DELETE c
  RETURN count(*) AS discarded
}
RETURN discarded

// name: discard_members
// Delete a batch of memberships that are neither published nor being written.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation >= ''
    AND NOT c.generation IN [coalesce(o.communities_generation, ''), coalesce(o.communities_building, '')]
  MATCH (c)-[m:MEMBER_OF|NAMED_BY]-()
  WITH m LIMIT $limit
  DELETE m
  RETURN count(*) AS discarded
}
RETURN discarded

// name: documents
// Return the main documents of a community, by the weights of its first concepts in their sources.
MATCH (:Community {generation: $generation, community_id: $community_id})<-[m:MEMBER_OF]-(k:Concept)
WITH m, k ORDER BY m.place, k.concept_id LIMIT $most_concepts
MATCH (k)-[:APPEARS_IN]->(s:Source)
WITH s.document_id AS document_id, k, m, count(DISTINCT s) AS sources
WITH document_id, sum(m.weight) AS weight, count(k) AS concepts, max(sources) AS sources
ORDER BY weight DESC, sources DESC, document_id LIMIT $limit
MATCH (d:Document {document_id: document_id})
RETURN document_id, d.document AS document, d.title AS title, weight, concepts
ORDER BY weight DESC, document_id

// name: find
// Return published communities with an id prefix. More than one is ambiguous.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community)
  USING INDEX SEEK c:Community(generation, community_id)
  WHERE c.ontology = o.name AND c.generation = o.communities_generation AND c.community_id STARTS WITH $prefix
  RETURN c LIMIT $limit
}
RETURN o.communities_at AS at, c {.community_id, .generation, .inside,
  size: COUNT { (c)<-[:MEMBER_OF]-() },
  labels: COLLECT { MATCH (c)-[n:NAMED_BY]->(k) RETURN k.label ORDER BY n.place, k.concept_id }} AS community
ORDER BY community.community_id

// name: hold
// Lock an ontology while a part of a generation is written. No row means that it is deleted or replaced, or that
// another generation is being written.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH o
WHERE o.communities_building = $generation
RETURN o.name AS ontology

// name: members
// Return the concepts of a community, most central first.
MATCH (:Community {generation: $generation, community_id: $community_id})<-[m:MEMBER_OF]-(k:Concept)
WITH m, k ORDER BY m.place, k.concept_id SKIP $offset LIMIT $limit
RETURN k.concept_id AS concept_id, k.ontology AS ontology, k.label AS label, k.description AS description,
       k.search_terms AS search_terms, COUNT { (k)-[:APPEARS_IN]->() } AS sources,
       EXISTS { (k)-[:EVIDENCED_BY]->() } AS verified, m.weight AS weight
ORDER BY m.place, concept_id

// name: of_sources
// Return the main published community of each source.
UNWIND $source_ids AS id
MATCH (o:Ontology {name: $ontology})
MATCH (s:Source {source_id: id})
MATCH (s)<-[:APPEARS_IN]-(:Concept)-[m:MEMBER_OF]->(c:Community)
WHERE c.ontology = o.name AND c.generation = o.communities_generation AND c.level = 0
WITH s, c, sum(m.weight) AS weight ORDER BY weight DESC, c.community_id
RETURN s.source_id AS source_id, collect(c.community_id)[0] AS community_id
ORDER BY source_id

// name: page
// Return published communities, largest first, with the labels for their names. The index hint is needed: without
// statistics, Neo4j reads all communities for each result.
MATCH (o:Ontology {name: $ontology})
CALL (o) {
  MATCH (c:Community {ontology: o.name, generation: o.communities_generation, level: 0})
  USING INDEX SEEK c:Community(ontology, generation, level, place)
  WHERE c.place IS NOT NULL
  WITH c, COUNT { (c)<-[:MEMBER_OF]-() } AS size
  WHERE size > 0
  ORDER BY size DESC, c.place
  RETURN collect({community: c, size: size}) AS found
}
WITH o, size(found) AS total, found[$offset..$offset + $limit] AS some
RETURN o.name AS ontology, o.communities AS communities, o.communities_at AS at, total,
       COLLECT {
         UNWIND some AS each
         WITH each.community AS c, each.size AS size
         RETURN c {.community_id, .inside, size: size,
           labels: COLLECT { MATCH (c)-[n:NAMED_BY]->(k) RETURN k.label ORDER BY n.place, k.concept_id }}
       } AS found

// name: passages
// Return the main sources of a community, by the weights of its first concepts in them.
MATCH (:Community {generation: $generation, community_id: $community_id})<-[m:MEMBER_OF]-(k:Concept)
WITH m, k ORDER BY m.place, k.concept_id LIMIT $most_concepts
MATCH (k)-[:APPEARS_IN]->(s:Source)
WITH s, sum(m.weight) AS weight, count(*) AS concepts
WHERE concepts > 1
ORDER BY weight DESC, s.source_id LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text, weight, concepts
ORDER BY weight DESC, source_id

// name: publish
// Publish a complete generation. Repetition is safe.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH o
WHERE o.communities_building = $generation OR o.communities_generation = $generation
SET o.communities_generation = $generation, o.communities = $summary, o.communities_at = $at, o.communities_building = null
RETURN o.name AS ontology

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
// Write unpublished communities. The caller has locked the ontology. Earlier versions also stored parts of
// communities, on levels above 0.
UNWIND $rows AS row
MERGE (c:Community {generation: $generation, community_id: row.community_id})
SET c.ontology = $ontology, c.level = 0, c.place = row.place, c.inside = row.inside
RETURN count(c) AS written

// name: write_members
// Write members with their positions, and mark the first ones for the name. Concepts are locked in the common order.
// Deleted concepts are skipped. The caller has locked the ontology.
UNWIND $rows AS row
MATCH (k:Concept {concept_id: row.concept_id})
WHERE k.ontology = $ontology
SET k.held_at = datetime.realtime()
WITH k, row
UNWIND row.communities AS own
MATCH (c:Community {generation: $generation, community_id: own.community_id})
MERGE (k)-[m:MEMBER_OF]->(c)
SET m.place = own.place, m.weight = own.weight
FOREACH (_ IN CASE WHEN own.place < $named THEN [1] ELSE [] END |
  MERGE (c)-[n:NAMED_BY]->(k)
  SET n.place = own.place)
RETURN count(m) AS written
