// The types of an ontology that are not part of another, with what was said of them for or against; and what goes by
// the same name in other ontologies says nothing here.
MATCH (t:RelationType)
WHERE t.ontology = $ontology AND t.type_id > '' AND NOT (t)-[:MERGED_INTO]->()
  AND (t.stance IS NOT NULL OR t.key IN $known)
RETURN t.key AS key, t.name AS name, t.stance AS stance
