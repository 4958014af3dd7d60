// How links are proposed in ontologies, as it was set; what all nodes of each were flagged for; when a search of all that was due ended; and how many proposals were dropped since all were flagged.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.proposals AS proposals, o.proposed_for AS proposed_for, o.proposed_at AS proposed_at,
       coalesce(o.proposals_dropped, 0) AS dropped
ORDER BY ontology
