// The sources that concepts lead to. Concepts are given, each with a weight, and sources whose concepts share the
// source's weight among them; a concept hands its weight on to those it is related to. Those of most weight hand a part
// of theirs on to what is near to them in meaning, too, which hands nothing on: a name and what else the texts call the
// same thing are two concepts where nobody has merged them, and so are a thing and its kind. What a concept is near to was
// looked up when it was embedded; where that was not done, nothing is walked yet, and those are told (`unlinked`): what the
// index finds for them is given then. One in many sources says less of each, so its weight is divided by the root of their
// number; one with very many relationships hands nothing on, and one in very many sources leads nowhere, so that no search
// walks the whole graph. An appearance that no quote proves leads nowhere either, unless somebody imported it. Where pictures
// alone are wanted, a passage lets those in that stand directly before or after it.
CALL () {
  CALL () {
    UNWIND $seeds AS seed
    MATCH (c:Concept {concept_id: seed.concept_id})
    RETURN c, seed.weight AS weight
    UNION ALL
    UNWIND $passages AS passage
    MATCH (s:Source {source_id: passage.source_id})
    WITH passage, COLLECT {
      MATCH (s)<-[a:APPEARS_IN]-(c:Concept) WHERE a.verified OR a.extracted_with STARTS WITH $imported RETURN c
    } AS carried
    UNWIND carried AS c
    RETURN c, passage.weight / sqrt(size(carried)) AS weight
  }
  WITH c, sum(weight) AS weight ORDER BY weight DESC, c.concept_id LIMIT $most_concepts
  WITH c, weight, $near_of[c.ontology] AS of
  RETURN collect({c: c, weight: weight, of: of, own: c[of.property], linked: c[of.linked] IS NOT NULL}) AS starts
}
WITH starts, reduce(leading = [], space IN $near_spaces |
  leading + [each IN starts WHERE each.own IS NOT NULL AND each.of.space = space][..$most]) AS leading
WITH starts, leading, [each IN leading WHERE $near IS NULL AND NOT each.linked] AS unlinked
WITH [each IN starts WHERE unlinked = []] AS starts, [each IN leading WHERE unlinked = [] AND each.linked] AS leading,
     unlinked
CALL (starts, leading) {
  CALL (starts, leading) {
    UNWIND starts AS start
    RETURN start.c AS near, start.weight AS share
    UNION ALL
    UNWIND starts AS start
    WITH start.c AS c, start.weight AS weight
    WHERE COUNT { (c)-[:RELATED_TO]-() } <= $most_related
    WITH weight, COLLECT { MATCH (c)-[:RELATED_TO]-(other:Concept) WHERE other <> c RETURN DISTINCT other } AS others
    UNWIND others AS other
    RETURN other AS near, weight / sqrt(size(others)) AS share
    UNION ALL
    UNWIND leading AS lead
    CALL (lead) {
      WITH lead.c AS c, lead.of AS of
      MATCH (c)-[r:NEAR_TO]-(n:Concept)
      WHERE r.space = of.space
      WITH c, of, n, max(r.cosine) AS kept ORDER BY kept DESC, n.concept_id LIMIT $most_linked
      WITH c, of, n, 2 * vector.similarity.cosine(n[of.property], lead.own) - 1 AS cosine
      WHERE n <> c AND cosine >= of.least
      ORDER BY cosine DESC, n.concept_id LIMIT $nearest
      RETURN collect(n) AS found
    }
    UNWIND found AS near
    RETURN near, $share * lead.weight / sqrt(size(found)) AS share
    UNION ALL
    UNWIND $near AS given
    MATCH (near:Concept {concept_id: given.concept_id})
    RETURN near, given.weight AS share
  }
  WITH near, sum(share) AS weight, COUNT { (near)-[:APPEARS_IN]->() } AS carriers
  WHERE carriers <= $most_sources
  WITH near, weight / sqrt(carriers) AS weight, carriers ORDER BY weight DESC, near.concept_id LIMIT $most_concepts
  WITH collect({near: near, weight: weight, carriers: carriers}) AS ranked
  WITH ranked, reduce(walked = {sum: 0, concepts: 0}, one IN ranked |
    CASE WHEN walked.sum + one.carriers <= $most_appearances
         THEN {sum: walked.sum + one.carriers, concepts: walked.concepts + 1}
         ELSE {sum: $most_appearances, concepts: walked.concepts} END).concepts AS followed
  UNWIND ranked[..followed] AS each
  WITH each.near AS near, each.weight AS weight
  WHERE $ontologies IS NULL OR near.ontology IN $ontologies
  MATCH (near)-[a:APPEARS_IN]->(carrier:Source)
  WHERE (a.verified OR a.extracted_with STARTS WITH $imported)
    AND ($document_ids IS NULL OR carrier.document_id IN $document_ids)
  UNWIND CASE
    WHEN $image IS NULL OR carrier:Image = $image THEN [carrier]
    WHEN $image THEN COLLECT {
      MATCH (beside:Source {ontology: carrier.ontology, document_id: carrier.document_id})
      WHERE beside.paragraph >= carrier.paragraph - 1 AND beside.paragraph <= carrier.paragraph + 1 AND beside:Image
      RETURN beside
    }
    ELSE [] END AS s
  WITH s, near, weight, a WHERE fits(s)
  WITH s, sum(weight) AS score, collect([near, weight, a.verified]) AS ways
  ORDER BY score DESC, s.source_id LIMIT $limit
  WITH s, score, COLLECT {
    UNWIND ways AS way
    WITH DISTINCT way[0] AS near, way[1] AS weight, way[2] AS verified
    ORDER BY weight DESC, near.concept_id LIMIT $most_told
    RETURN {concept_id: near.concept_id, label: near.label, verified: verified}
  } AS through
  WITH s, score, through, coalesce($spaces[s.ontology], 'default') AS space
  WITH s, score, through, space, $vectors[space] AS asked, $properties[space] AS property
  WITH s, score, through, asked, space, property, s[property] AS own
  WITH s, score, through, asked, own, CASE WHEN own IS NULL THEN COLLECT {
         MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = space AND c[property] IS NOT NULL
         WITH c, CASE WHEN asked IS NULL THEN 0.0
                      ELSE 2 * vector.similarity.cosine(c[property], asked) - 1 END AS near
         ORDER BY near DESC, c.chunk_id LIMIT 1
         OPTIONAL MATCH (c)-[:CHILD_OF]->(parent:Chunk)
         RETURN {
           chunk_id: c.chunk_id, offset: c.offset, end_offset: c.end_offset, near: near, parent_id: parent.chunk_id,
           covers: COLLECT { MATCH (c)-[:CHUNK_OF]->(part:Source) RETURN part.source_id ORDER BY part.paragraph }
         }
       }[0] END AS chunk
  WITH s, score, through, asked, own, chunk, CASE
         WHEN asked IS NULL THEN null
         WHEN chunk IS NOT NULL THEN chunk.near
         WHEN own IS NOT NULL THEN 2 * vector.similarity.cosine(own, asked) - 1 END AS similarity
  ORDER BY score DESC, s.source_id
  RETURN collect({
    source_id: s.source_id, ontology: s.ontology, document_id: s.document_id,
    chunk_id: chunk.chunk_id, offset: chunk.offset, end_offset: chunk.end_offset,
    covers: chunk.covers, parent_id: chunk.parent_id, similarity: similarity,
    asked: asked IS NOT NULL, score: score, through: through
  }) AS found
}
RETURN found,
  [each IN unlinked | {concept_id: each.c.concept_id, weight: each.weight, space: each.of.space}] AS unlinked
