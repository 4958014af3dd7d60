// All of an ontology is to be looked at again.
MATCH (o:Ontology {name: $name})
SET o.proposed_for = null
