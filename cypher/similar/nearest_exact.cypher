// The passages of a space nearest to vectors of sources, best first for each source, by comparing with every one.
CYPHER 25
UNWIND $asked AS ask
CALL (ask) {
  CALL (ask) {
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
