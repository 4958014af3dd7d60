// How many sources some ontologies have, by what their documents tell.
CYPHER 25
MATCH (d:Document)
WHERE d.ontology IN $ontologies AND d.document >= ''
RETURN sum(d.sources) AS sources
