// All that was due has been looked at.
MATCH (o:Ontology {name: $name})
SET o.proposed_at = datetime.realtime()
