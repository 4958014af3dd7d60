// As `search_by_vector`, only of some types; that filter, too, runs inside the index.
CYPHER 25
MATCH ()-[n:RELATED_TO]->()
SEARCH n IN (VECTOR INDEX relation_embedding FOR $vector WHERE n.ontology IN $ontologies AND n.type_key IN $types LIMIT $limit) SCORE AS approximate
RETURN n.relation_id AS relation_id, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
ORDER BY similarity DESC, relation_id
