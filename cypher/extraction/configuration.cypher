// How concepts are extracted from ontologies, as it was set, and what that has cost so far.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.extraction AS extraction, coalesce(o.extraction_spent, 0.0) AS spent, o.extraction_asked AS asked,
       coalesce(o.extraction_expected, 0.0) AS expected,
       coalesce(o.paused, false) OR coalesce(o.extraction_paused, false) AS paused
ORDER BY ontology
