// name: by_ids
// Return sources by id with properties of their documents, in reading order. One row costs the driver half as much as
// ten rows.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
OPTIONAL MATCH (s)-[:PART_OF]->(d:Document)
WITH s, d ORDER BY s.ontology, s.document, s.document_id, s.paragraph
RETURN collect({
  source_id: s.source_id, ontology: s.ontology, document: s.document, document_id: s.document_id,
  paragraph: s.paragraph, heading: s.heading, start: s.start, end: s.end, page: s.page, last_page: s.last_page,
  ocr: s.ocr_confidence IS NOT NULL, ocr_confidence: s.ocr_confidence, full_text: s.full_text,
  kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END,
  image: CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes} END,
  title: s.title, uri: d.uri, format: d.format, metadata: d.metadata
}) AS found

// name: count_in_scope
// Count the sources of ontologies or documents.
MATCH (s:Source)
WHERE s.ontology IN $ontologies AND s.document_id >= '' AND s.paragraph >= 0
  AND ($document_ids IS NULL OR s.document_id IN $document_ids)
  AND ($image IS NULL OR s:Image = $image) AND fits(s)
RETURN count(s) AS sources

// name: in_document
// Return the sources before and after a position in a document.
CYPHER 25
CALL () {
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id = $document_id AND s.paragraph > $paragraph
    AND ($image IS NULL OR s:Image = $image) AND fits(s)
  RETURN s ORDER BY s.paragraph LIMIT $limit
  UNION ALL
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id = $document_id AND s.paragraph >= 0 AND s.paragraph < $paragraph
    AND ($image IS NULL OR s:Image = $image) AND fits(s)
  RETURN s ORDER BY s.paragraph DESC LIMIT $limit
}
WITH s, abs(s.paragraph - $paragraph) AS distance
RETURN s.source_id AS source_id, distance
ORDER BY distance, s.paragraph LIMIT $limit

// name: in_scope
// Return the sources of ontologies or documents in reading order.
MATCH (s:Source)
WHERE s.ontology IN $ontologies AND s.document_id >= '' AND s.paragraph >= 0
  AND ($document_ids IS NULL OR s.document_id IN $document_ids)
  AND ($image IS NULL OR s:Image = $image) AND fits(s)
WITH s ORDER BY s.ontology, s.document, s.document_id, s.paragraph LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence, s.full_text AS full_text

// name: nearest
// Return the nearest passages of a space for vectors of sources, best first for each source. The filter by documents
// is inside the index. It allows ranges but no inequality, so one range before and one after excludes a document.
// Conditions on sources apply only to comparisons with all vectors. Without conditions, all sources match.
CYPHER 25
UNWIND $asked AS ask
CALL (ask) {
  CALL (ask) {
    WHEN $exact THEN {
      MATCH (n:Source)
      WHERE n.ontology IN $ontologies AND n.document_id > ask.after AND n.document_id < ask.before AND n.paragraph >= 0
        AND n[$property] IS NOT NULL AND ($document_ids IS NULL OR n.document_id IN $document_ids)
        AND ($image IS NULL OR n:Image = $image) AND fits(n)
      RETURN n
      UNION ALL
      MATCH (n:Chunk)
      WHERE n.space = $key AND n.ontology IN $ontologies AND n.document_id > ask.after AND n.document_id < ask.before
        AND n[$property] IS NOT NULL AND ($document_ids IS NULL OR n.document_id IN $document_ids)
        AND EXISTS { MATCH (n)-[:CHUNK_OF]->(s:Source) WHERE ($image IS NULL OR s:Image = $image) AND fits(s) }
      RETURN n
    }
    WHEN $document_ids IS NOT NULL THEN {
      MATCH (n:Source|Chunk)
      SEARCH n IN (VECTOR INDEX passage_embedding FOR ask.vector
        WHERE n.ontology IN $ontologies AND n.document_id IN $document_ids LIMIT $limit) SCORE AS approximate
      RETURN n
    }
    ELSE {
      MATCH (n:Source|Chunk)
      SEARCH n IN (VECTOR INDEX passage_embedding FOR ask.vector
        WHERE n.ontology IN $ontologies AND n.document_id > ask.after AND n.document_id < ask.before LIMIT $limit) SCORE AS approximate
      RETURN n
    }
  }
  WITH n, 2 * vector.similarity.cosine(n[$property], ask.vector) - 1 AS similarity
  ORDER BY similarity DESC LIMIT $limit
  RETURN collect({n: n, similarity: similarity}) AS found
}
WITH ask.source AS source, collect({part: ask.part, found: found}) AS asked, max(size(found)) AS most
UNWIND asked AS one
UNWIND one.found AS hit
WITH source, most, hit.n AS n, one.part AS part, hit.similarity AS similarity ORDER BY similarity DESC, part
WITH source, most, n, collect(part)[0] AS part, max(similarity) AS similarity ORDER BY similarity DESC, elementId(n)
WITH source, most, collect({n: n, part: part, similarity: similarity}) AS every
WITH source, most >= $limit OR size(every) > $limit AS more, every[..$limit] AS best
UNWIND best AS each
WITH source, more, each.n AS n, each.part AS part, each.similarity AS similarity
WITH source, more, n, part, similarity, CASE WHEN n:Source THEN [n] ELSE COLLECT {
       MATCH (n)-[:CHUNK_OF]->(covered:Source) RETURN covered ORDER BY covered.paragraph
     } END AS covers
WITH source, more, n, part, similarity, covers,
     [each IN covers WHERE ($image IS NULL OR each:Image = $image) AND fits(each)][0] AS s
WHERE s IS NOT NULL
RETURN source, part, more, similarity, s.source_id AS source_id, s.ontology AS ontology, s.document AS document,
       s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text, n.chunk_id AS chunk_id, [each IN covers | each.source_id] AS covers,
       COLLECT { MATCH (n)-[:CHILD_OF]->(parent:Chunk) RETURN parent.chunk_id }[0] AS parent_id
ORDER BY source, similarity DESC, source_id, chunk_id

// name: of_ontology
// Return the next sources of an ontology by id, which is as good as a random order.
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, source_id)
WHERE s.ontology = $ontology AND s.source_id > $after
WITH s ORDER BY s.ontology, s.source_id LIMIT $limit
RETURN s.source_id AS source_id, s.document_id AS document_id
ORDER BY source_id

// name: of_sources
// Return sources with their answering vectors or the vectors of their chunks, as type VECTOR. A list of numbers takes
// the driver ten times as long.
CYPHER 25
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WITH s, coalesce($spaces[s.ontology], $new) AS space
WITH s, space, $properties[space] AS property
RETURN s.source_id AS source_id,
       CASE WHEN s[property] IS NOT NULL THEN vector(s[property], size(s[property]), FLOAT32) END AS vector,
       CASE WHEN s[property] IS NOT NULL THEN [] ELSE COLLECT {
         MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = space AND c[property] IS NOT NULL
         WITH c, COLLECT { MATCH (c)-[:CHUNK_OF]->(part:Source) RETURN part.paragraph ORDER BY part.paragraph } AS places
         ORDER BY places[0], c.offset, c.chunk_id
         RETURN {chunk_id: c.chunk_id, vector: vector(c[property], size(c[property]), FLOAT32)}
       } END AS chunks
