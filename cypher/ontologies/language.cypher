// In which language an ontology's sources are indexed, and how far that is: `after` is null when all is done.
MATCH (o:Ontology {name: $name})
RETURN o.language AS language, o.index_after AS after, o.index_after_paragraph AS after_paragraph
