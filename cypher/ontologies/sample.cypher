// How much text an ontology holds, and some of its documents, to estimate what embedding it will take.
MATCH (d:Document {ontology: $ontology})
WITH count(d) AS documents, sum(d.characters) AS characters, collect(d.document_id)[..$limit] AS sample
RETURN documents, characters, sample
