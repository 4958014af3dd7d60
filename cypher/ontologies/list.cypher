// Every ontology with its counts.
MATCH (o:Ontology)
WHERE $name IS NULL OR o.name = $name
RETURN o.name AS ontology,
       COUNT { MATCH (d:Document {ontology: o.name}) } AS documents,
       COUNT { MATCH (s:Source {ontology: o.name}) } AS sources,
       COUNT { MATCH (s:Source {ontology: o.name}) WHERE s.embedded_with = $fingerprint } AS embedded,
       COUNT { MATCH (s:Source {ontology: o.name}) WHERE s.embedded_with <> $fingerprint } AS stale
ORDER BY ontology
