// What some relationships say, and the source that states each. A quote's place is counted in its source.
UNWIND $ids AS id
MATCH ()-[r:RELATED_TO {relation_id: id}]->()
MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, coalesce(r.quote, '') AS quote, r.start AS start, r.end AS end, r.statement AS statement,
       s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.paragraph AS paragraph,
       s.start AS source_start
