// The documents whose first source has the token of an alias.
CALL db.index.fulltext.queryNodes('source_words', $query, {limit: $limit}) YIELD node AS s
WHERE s.paragraph = 0 AND ($ontologies IS NULL OR s.ontology IN $ontologies)
RETURN s.document_id AS document_id, s.ontology AS ontology, s.document AS document
ORDER BY ontology, document
