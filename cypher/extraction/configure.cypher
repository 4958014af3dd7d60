// How concepts are extracted from now on; it may be configured before the ontology's first document comes.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.created_at = datetime.realtime()
SET o.extraction = $extraction, o.changed_at = datetime.realtime(), o.unread_for = null
