// name: concepts_of_sources
// Return the concepts of sources, highest confidence first, then fewest sources.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
WITH id, COLLECT {
  MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
  WITH c, coalesce(a.verified, false) AS verified, a.confidence AS confidence
  ORDER BY verified DESC, confidence DESC, COUNT { (c)-[:APPEARS_IN]->() }, c.concept_id
  RETURN {id: c.concept_id, kind: 'concept', ontology: c.ontology, outgoing: false, verified: verified}
} AS found
RETURN id AS of, found[..$fan_out] AS found, size(found) AS number, false AS hub

// name: documents_of_sources
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
MATCH (d:Document {document_id: s.document_id})
RETURN id AS of, [{id: d.document_id, kind: 'document', ontology: d.ontology, document_id: d.document_id,
                   outgoing: true}] AS found, 1 AS number, false AS hub

// name: nearness_of_concepts
// Return the cosine of concepts and a query, if both have vectors in the same space.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH c, coalesce($spaces[c.ontology], 'default') AS space
WITH c, $vectors[space] AS asked, c[$properties[space]] AS vector
WHERE asked IS NOT NULL AND vector IS NOT NULL
RETURN c.concept_id AS concept_id, 2 * vector.similarity.cosine(vector, asked) - 1 AS similarity

// name: next_to
// Return the sources directly before and after given ones, in the same document.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
WITH id, COLLECT {
  MATCH (o:Source)
  WHERE o.document_id = s.document_id AND o.paragraph >= s.paragraph - 1 AND o.paragraph <= s.paragraph + 1
    AND o <> s AND (o.paragraph > s.paragraph) IN $outgoing
  WITH o, s ORDER BY o.paragraph
  RETURN {id: o.source_id, kind: CASE WHEN o:Image THEN 'image' ELSE 'passage' END, ontology: o.ontology,
          document_id: o.document_id, outgoing: o.paragraph > s.paragraph}
} AS found
RETURN id AS of, found[..$fan_out] AS found, size(found) AS number, false AS hub

// name: related
// Return the relationships of concepts, filtered by direction, type and document, most sources first, with a limit
// per concept. The number of read relationships per concept is limited.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH id, c, COUNT { (c)-[:RELATED_TO]-() } > $scanned AS hub
CALL (c) {
  MATCH (c)-[r:RELATED_TO]-(o:Concept)
  WITH c, r, o LIMIT $scanned
  WITH c, r, o, startNode(r) = c AS outgoing
  WHERE o <> c AND outgoing IN $outgoing
    AND ($types IS NULL OR r.type_key IN $types)
    AND ($document_ids IS NULL
         OR EXISTS { MATCH (s:Source {source_id: r.source_id}) WHERE s.document_id IN $document_ids })
  WITH r, o, outgoing ORDER BY r.confidence DESC, r.relation_id
  WITH o, outgoing, r.type_key AS type_key, min(r.type) AS type, max(r.confidence) AS confidence,
       count(DISTINCT r.source_id) AS support, collect(r.relation_id)[..$most_quotes] AS relation_ids
  ORDER BY support DESC, confidence DESC, o.concept_id, type_key, outgoing DESC
  WITH collect({id: o.concept_id, kind: 'concept', ontology: o.ontology, outgoing: outgoing, type: type,
                type_key: type_key, support: support, relation_ids: relation_ids}) AS found
  RETURN found[..$fan_out] AS found, size(found) AS number
}
RETURN id AS of, found, number, hub

// name: sources_of_concepts
// Return the sources that contain concepts, filtered by document, verified appearances first, with a limit per
// concept. The number of read sources per concept is limited.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH id, c, COUNT { (c)-[:APPEARS_IN]->() } > $scanned AS hub
CALL (c) {
  MATCH (c)-[a:APPEARS_IN]->(s:Source)
  WITH a, s LIMIT $scanned
  WHERE $document_ids IS NULL OR s.document_id IN $document_ids
  WITH a, s ORDER BY coalesce(a.verified, false) DESC, a.confidence DESC, s.document, s.document_id, s.paragraph
  WITH collect({id: s.source_id, kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END, ontology: s.ontology,
                document_id: s.document_id, outgoing: true, verified: coalesce(a.verified, false)}) AS found
  RETURN found[..$fan_out] AS found, size(found) AS number
}
RETURN id AS of, found, number, hub

// name: sources_of_documents
// Return the first sources of documents in reading order.
UNWIND $ids AS id
MATCH (d:Document {document_id: id})
RETURN id AS of, COLLECT {
  MATCH (s:Source)
  WHERE s.document_id = d.document_id AND s.paragraph >= 0
  WITH s ORDER BY s.document_id, s.paragraph LIMIT $fan_out
  RETURN {id: s.source_id, kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END, ontology: s.ontology,
          document_id: s.document_id, outgoing: false}
} AS found, d.sources AS number, false AS hub

// name: stated_within
// Return the number of sources in given documents that state each relationship, and the ids of the best statements.
// Relationships without such a source are missing. If both ends have too many relationships to read all, the result
// says so. The relationships are collected before their sources. Otherwise, a plan may read all relationships by
// their source index.
UNWIND $edges AS edge
MATCH (a:Concept {concept_id: edge.subject})
CALL (edge) {
  MATCH (b:Concept {concept_id: edge.object})
  RETURN b
}
WITH edge, a, b, COUNT { (a)-[:RELATED_TO]->() } AS out, COUNT { (b)<-[:RELATED_TO]-() } AS back
WITH edge, a, b, out > $scanned AND back > $scanned AS hub
CALL (edge, a, b, hub) {
  WITH edge, a, b WHERE NOT hub
  UNWIND COLLECT { MATCH (a)-[r:RELATED_TO]->(b) WHERE r.type_key = edge.type_key RETURN r } AS r
  MATCH (s:Source {source_id: r.source_id})
  WHERE s.document_id IN $document_ids
  WITH r ORDER BY r.confidence DESC, r.relation_id
  RETURN count(DISTINCT r.source_id) AS support, collect(r.relation_id)[..$most_quotes] AS relation_ids
}
WITH edge, support, relation_ids, hub WHERE hub OR support > 0
RETURN edge.number AS number, support, relation_ids, hub

// name: statements
// Return statements of relationships with their sources. Positions of quotes are relative to the source.
UNWIND $ids AS id
MATCH ()-[r:RELATED_TO {relation_id: id}]->()
MATCH (s:Source {source_id: r.source_id})
RETURN r.relation_id AS relation_id, coalesce(r.quote, '') AS quote, r.start AS start, r.end AS end, r.statement AS statement,
       s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.paragraph AS paragraph,
       s.start AS source_start

// name: within
// Return the concepts that appear in given documents, and the concepts with too many sources to check all.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
USING INDEX SEEK c:Concept(concept_id)
WITH id, c, EXISTS {
  MATCH (c)-[:APPEARS_IN]->(s:Source)
  WITH s LIMIT $scanned
  WHERE s.document_id IN $document_ids
  RETURN s
} AS appears
WITH id, appears, COUNT { (c)-[:APPEARS_IN]->() } > $scanned AS hub
WHERE appears OR hub
RETURN id AS concept_id, appears
