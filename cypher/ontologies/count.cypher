// How many ontologies there are. Neo4j keeps that count.
MATCH (o:Ontology)
RETURN count(o) AS ontologies
