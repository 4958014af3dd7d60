// All of an ontology is flagged for a way to propose; what was dropped before is looked at again, too.
MATCH (o:Ontology {name: $name})
SET o.proposed_for = $mark, o.proposals_dropped = null
