// The language in which an ontology's sources are indexed, held until the end of the transaction.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
RETURN o.language AS language
