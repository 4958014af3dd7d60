// The sources that full text finds, with their similarity where query and source have vectors.
CALL db.index.fulltext.queryNodes('source_text', $query, {limit: $limit}) YIELD node AS s, score
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.full_text AS full_text,
       CASE WHEN $vector IS NULL OR s.embedded_with <> $fingerprint THEN null
            ELSE 2 * vector.similarity.cosine(s.embedding, $vector) - 1 END AS similarity,
       score
ORDER BY score DESC, source_id
