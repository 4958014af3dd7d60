// name: by_concepts
// Return the sources of weighted concepts (see concepts_reached), with these concepts. Appearances count only if a
// quote proves them. If only images are requested, a passage leads to the images directly before
// or after it.
UNWIND $concepts AS each
MATCH (near:Concept {concept_id: each.concept_id})
WITH near, each.weight AS weight
MATCH (near)-[a:APPEARS_IN]->(carrier:Source)
WHERE a.verified
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

// name: by_text
// Return sources by full text. The first `compared` have their similarity, if query and source have vectors in the same
// space. Optional filters: documents that are too many for the query text, and conditions on sources. `looked` counts the results of
// the index. If it is below `candidates`, there are no more. Pairs of words are compared only for short queries with
// words that the index ignores (ADR 46). A source without its own vector has the similarity of its nearest chunk,
// which is shown. Without a query vector, only parent chunks are read, if an ontology has any. Both are read after
// the list, so they cost nothing if no source needs them.
CYPHER 25
CALL db.index.fulltext.queryNodes('source_words', $query, {limit: $candidates}) YIELD node AS s, score
WITH s, score, score > 0 AND (NOT $filters OR ($document_ids IS NULL OR s.document_id IN $document_ids)
     AND ($image IS NULL OR s:Image = $image) AND fits(s)) AS fitting
WITH s, fitting, CASE WHEN $pairs = [] OR NOT fitting THEN score
     ELSE score * (1 + $weight * size([pair IN $pairs WHERE toLower(s.full_text) CONTAINS pair])) END AS score
ORDER BY score DESC
WITH count(s) AS looked, collect(CASE WHEN fitting THEN [s, score] END)[..$limit] AS best
CALL (best) {
  UNWIND range(0, size(best) - 1) AS at
  WITH best[at][0] AS s, best[at][1] AS score, at < $compared AS compared
  WITH s, score, compared, coalesce($spaces[s.ontology], 'default') AS space
  WITH s, score, compared AND $vectors[space] IS NOT NULL AS asked,
       CASE WHEN compared THEN 2 * vector.similarity.cosine(s[$properties[space]], $vectors[space]) - 1 END AS own
  RETURN collect([s.source_id, s.ontology, s.document_id, score, own, asked]) AS passages,
         collect(CASE WHEN own IS NULL AND (asked OR $parents) THEN s END) AS lacking
}
CALL (lacking) {
  UNWIND lacking AS s
  WITH s, coalesce($spaces[s.ontology], 'default') AS space
  WITH s, space, $vectors[space] AS asked, $properties[space] AS property
  CALL (s, space, asked, property) {
    MATCH (parent:Chunk)<-[:CHILD_OF]-(c:Chunk)-[:CHUNK_OF]->(s) WHERE asked IS NULL AND c.space = space
    RETURN [s.source_id, null, s.source_id, 0, size(s.full_text), [s.source_id], parent.chunk_id] AS chunk
    ORDER BY c.offset, c.chunk_id LIMIT 1
    UNION ALL
    MATCH (c:Chunk)-[:CHUNK_OF]->(s)
    WHERE asked IS NOT NULL AND c.space = space AND c[property] IS NOT NULL
    WITH s, c, 2 * vector.similarity.cosine(c[property], asked) - 1 AS near ORDER BY near DESC, c.chunk_id LIMIT 1
    OPTIONAL MATCH (c)-[:CHILD_OF]->(parent:Chunk)
    RETURN [s.source_id, near, c.chunk_id, c.offset, c.end_offset, c.source_ids, parent.chunk_id] AS chunk
  }
  RETURN collect(chunk) AS chunks
}
RETURN {looked: looked, passages: passages, chunks: chunks} AS found

// name: by_vector
// Return the nearest passages of a space in all ontologies. More candidates than the limit raise the
// recall of the graph search in large indexes (ADR 8).
CYPHER 25
MATCH (n:Source|Chunk)
SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector LIMIT $candidates) SCORE AS score
WITH n, 2 * score - 1 AS similarity ORDER BY similarity DESC LIMIT $limit
WITH collect(CASE WHEN n:Chunk
       THEN [null, n.ontology, n.document_id, similarity, n.chunk_id, n.offset, n.end_offset, n.source_ids]
       ELSE [n.source_id, n.ontology, n.document_id, similarity] END) AS passages,
     collect(CASE WHEN n:Chunk THEN n END) AS chunks
CALL (chunks) {
  UNWIND chunks AS c
  MATCH (c)-[:CHILD_OF]->(parent:Chunk)
  RETURN collect([c.chunk_id, parent.chunk_id]) AS parents
}
RETURN {passages: passages, parents: parents} AS found

// name: by_vector_in_documents
// Return the nearest passages of a space in documents, with a filter inside the index.
CYPHER 25
MATCH (n:Source|Chunk)
SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector WHERE n.document_id IN $document_ids LIMIT $candidates) SCORE AS score
WITH n, 2 * score - 1 AS similarity ORDER BY similarity DESC LIMIT $limit
WITH collect(CASE WHEN n:Chunk
       THEN [null, n.ontology, n.document_id, similarity, n.chunk_id, n.offset, n.end_offset, n.source_ids]
       ELSE [n.source_id, n.ontology, n.document_id, similarity] END) AS passages,
     collect(CASE WHEN n:Chunk THEN n END) AS chunks
CALL (chunks) {
  UNWIND chunks AS c
  MATCH (c)-[:CHILD_OF]->(parent:Chunk)
  RETURN collect([c.chunk_id, parent.chunk_id]) AS parents
}
RETURN {passages: passages, parents: parents} AS found

// name: by_vector_in_ontologies
// Return the nearest passages of a space in ontologies, with a filter inside the index.
CYPHER 25
MATCH (n:Source|Chunk)
SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $candidates) SCORE AS score
WITH n, 2 * score - 1 AS similarity ORDER BY similarity DESC LIMIT $limit
WITH collect(CASE WHEN n:Chunk
       THEN [null, n.ontology, n.document_id, similarity, n.chunk_id, n.offset, n.end_offset, n.source_ids]
       ELSE [n.source_id, n.ontology, n.document_id, similarity] END) AS passages,
     collect(CASE WHEN n:Chunk THEN n END) AS chunks
CALL (chunks) {
  UNWIND chunks AS c
  MATCH (c)-[:CHILD_OF]->(parent:Chunk)
  RETURN collect([c.chunk_id, parent.chunk_id]) AS parents
}
RETURN {passages: passages, parents: parents} AS found

// name: concepts_of_sources
// Return the concepts of sources, highest confidence first, then fewest sources.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
RETURN s.source_id AS source_id, COLLECT {
  MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
  WITH c, a ORDER BY a.verified DESC, a.confidence DESC, COUNT { (c)-[:APPEARS_IN]->() }, c.concept_id LIMIT $limit
  RETURN {concept_id: c.concept_id, label: c.label, verified: a.verified}
} AS concepts

// name: concepts_reached
// Return weighted concepts that lead to sources. Start concepts have given weights. Start sources divide their weight
// among their concepts. A concept passes its weight to related concepts.
// The concepts with the highest weights also pass a share to similar concepts, which pass nothing. Similar concepts
// can be two names of one thing, or a thing and its kind.
// Similarity links are written at embedding. If they are missing, the walk is skipped, and `unlinked` lists these
// concepts. The caller then gets their neighbours from the index.
// The weight of a concept is divided by the square root of its number of sources. Concepts with too many
// relationships pass no weight, and concepts with too many sources lead to none, so that a search never reads the
// whole graph.
CALL () {
  CALL () {
    UNWIND $seeds AS seed
    MATCH (c:Concept {concept_id: seed.concept_id})
    RETURN c, seed.weight AS weight
    UNION ALL
    UNWIND $passages AS passage
    MATCH (s:Source {source_id: passage.source_id})
    WITH passage, COLLECT {
      MATCH (s)<-[a:APPEARS_IN]-(c:Concept) WHERE a.verified RETURN c
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
  RETURN [each IN ranked[..followed] WHERE $ontologies IS NULL OR each.near.ontology IN $ontologies |
    {concept_id: each.near.concept_id, weight: each.weight}] AS concepts
}
RETURN concepts,
  [each IN unlinked | {concept_id: each.c.concept_id, weight: each.weight, space: each.of.space}] AS unlinked

// name: count_passages
// Count sources and chunks from Neo4j's count store, about as many as in the vector indexes.
CYPHER 25
CALL () {
  MATCH (s:Source)
  RETURN count(s) AS sources
}
CALL () {
  MATCH (c:Chunk)
  RETURN count(c) AS chunks
}
RETURN sources + chunks AS passages

// name: count_stored
// Estimate the passages of ontologies: sources as counted at documents, and chunks in proportion to a sample of
// sources.
CYPHER 25
UNWIND $ontologies AS ontology
CALL (ontology) {
  MATCH (d:Document)
  WHERE d.ontology = ontology AND d.document >= ''
  RETURN sum(d.sources) AS sources
}
CALL (ontology) {
  MATCH (s:Source)
  WHERE s.ontology = ontology AND s.source_id >= ''
  WITH s
  LIMIT $sample
  RETURN count(s) AS seen, sum(COUNT { (s)<-[:CHUNK_OF]-(:Chunk) }) AS chunks
}
RETURN sum(sources + CASE WHEN seen = 0 THEN 0 ELSE toFloat(sources) * chunks / seen END) AS passages

// name: exactly
// Return the nearest passages by comparison with all sources that match conditions, in documents, ontologies or
// everywhere. A search for images always uses this statement, because images are rare among passages, and an index
// would return mostly passages.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (s:Source) WHERE s.document_id IN $document_ids AND s.paragraph >= 0 RETURN s
  }
  WHEN $image = true THEN { MATCH (s:Image) WHERE $ontologies IS NULL OR s.ontology IN $ontologies RETURN s }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (s:Source) WHERE s.ontology IN $ontologies AND s.document_id >= '' AND s.paragraph >= 0 RETURN s
  }
  ELSE { MATCH (s:Source) RETURN s }
}
WITH s
WHERE ($image IS NULL OR s:Image = $image) AND fits(s)
CALL (s) {
  WITH s WHERE s[$property] IS NOT NULL
  RETURN s AS n
  UNION ALL
  MATCH (c:Chunk)-[:CHUNK_OF]->(s)
  WHERE c.space = $space AND c[$property] IS NOT NULL
  RETURN c AS n
}
WITH DISTINCT n
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
WHERE similarity IS NOT NULL // one that loses its vector just now
WITH n, similarity ORDER BY similarity DESC LIMIT $limit
WITH collect(CASE WHEN n:Chunk
       THEN [null, n.ontology, n.document_id, similarity, n.chunk_id, n.offset, n.end_offset, n.source_ids]
       ELSE [n.source_id, n.ontology, n.document_id, similarity] END) AS passages,
     collect(CASE WHEN n:Chunk THEN n END) AS chunks
CALL (chunks) {
  UNWIND chunks AS c
  MATCH (c)-[:CHILD_OF]->(parent:Chunk)
  RETURN collect([c.chunk_id, parent.chunk_id]) AS parents
}
RETURN {passages: passages, parents: parents} AS found

// name: images_by_vector
// Return the nearest images of a space in ontologies, with a filter inside the index. Exact cosines order the
// results, also if the index of an earlier version is quantised. The texts of images are compared with the query's text vector, if any.
CYPHER 25
MATCH (n:Image)
SEARCH n IN (VECTOR INDEX image_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS score
WHERE score IS NOT NULL // one that loses its vector just now
WITH n, score, coalesce($spaces[n.ontology], 'default') AS space
WITH n, score, $vectors[space] AS asked, $properties[space] AS words
WITH n, score, CASE WHEN asked IS NOT NULL AND n[words] IS NOT NULL
       THEN 2 * vector.similarity.cosine(n[words], asked) - 1 END AS similarity
ORDER BY score DESC, n.source_id
RETURN collect({
  source_id: n.source_id, ontology: n.ontology, document_id: n.document_id, chunk_id: null, similarity: similarity, score: score
}) AS found

// name: images_by_vector_in_documents
// Return the nearest images of a space in documents, with a filter inside the index. Exact cosines order the
// results, also if the index of an earlier version is quantised. The texts of images are compared with the query's text vector, if any.
CYPHER 25
MATCH (n:Image)
SEARCH n IN (VECTOR INDEX image_embedding FOR $vector WHERE n.ontology IN $ontologies AND n.document_id IN $document_ids LIMIT $limit) SCORE AS approximate
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS score
WHERE score IS NOT NULL // one that loses its vector just now
WITH n, score, coalesce($spaces[n.ontology], 'default') AS space
WITH n, score, $vectors[space] AS asked, $properties[space] AS words
WITH n, score, CASE WHEN asked IS NOT NULL AND n[words] IS NOT NULL
       THEN 2 * vector.similarity.cosine(n[words], asked) - 1 END AS similarity
ORDER BY score DESC, n.source_id
RETURN collect({
  source_id: n.source_id, ontology: n.ontology, document_id: n.document_id, chunk_id: null, similarity: similarity, score: score
}) AS found

// name: images_fitting
// Return the nearest images of a space by comparison with all that match conditions, in ontologies or documents. The
// texts of images are compared with the query's text vector, if any.
CYPHER 25
MATCH (n:Image)
WHERE n.ontology IN $ontologies AND ($document_ids IS NULL OR n.document_id IN $document_ids) AND fits(n)
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS score
WHERE score IS NOT NULL
ORDER BY score DESC, n.source_id LIMIT $limit
WITH n, score, coalesce($spaces[n.ontology], 'default') AS space
WITH n, score, $vectors[space] AS asked, $properties[space] AS words
WITH n, score, CASE WHEN asked IS NOT NULL AND n[words] IS NOT NULL
       THEN 2 * vector.similarity.cosine(n[words], asked) - 1 END AS similarity
ORDER BY score DESC, n.source_id
RETURN collect({
  source_id: n.source_id, ontology: n.ontology, document_id: n.document_id, chunk_id: null, similarity: similarity, score: score
}) AS found

// name: known_words
// Return the words that the full-text index contains in the scope of a search.
CYPHER 25
UNWIND $queries AS asked
CALL (asked) {
  CALL db.index.fulltext.queryNodes('source_words', asked.query, {limit: 1}) YIELD score
  WHERE score > 0
  RETURN count(score) AS times
}
WITH asked, times WHERE times > 0
RETURN collect(DISTINCT asked.word) AS found

// name: near_concepts
// Return neighbours from the index for concepts without similarity links. They share a part of the concept's weight.
CYPHER 25
UNWIND $concepts AS one
MATCH (c:Concept {concept_id: one.concept_id})
WHERE c[$property] IS NOT NULL
WITH c, one.weight AS weight, c[$property] AS own, c.ontology AS ontology
CALL (own, ontology) {
  MATCH (n:Concept)
  SEARCH n IN (VECTOR INDEX concept_embedding FOR own WHERE n.ontology = ontology LIMIT $limit + 1) SCORE AS approximate
  RETURN n
}
WITH c, weight, n, 2 * vector.similarity.cosine(n[$property], own) - 1 AS cosine
WHERE n <> c AND cosine >= $least
ORDER BY cosine DESC, n.concept_id
WITH c, weight, collect(n)[..$limit] AS near
UNWIND near AS n
RETURN n.concept_id AS concept_id, sum($share * weight / sqrt(size(near))) AS weight

// name: near_words
// Return the best texts with words similar to an unknown word, for spelling corrections.
CYPHER 25
UNWIND $queries AS asked
CALL (asked) {
  CALL db.index.fulltext.queryNodes('source_words', asked.query, {limit: $limit}) YIELD node AS s, score
  WHERE score > 0
  RETURN collect(s.full_text) + collect(coalesce(s.title, '')) + collect(s.document)
         + reduce(every = [], heading IN collect(s.heading) | every + heading) AS texts
}
RETURN collect({word: asked.word, texts: texts}) AS found

// name: vectors_of
// Return the vectors of hits, from the matching chunk or the source. The packed type is ten times faster.
CYPHER 25
UNWIND $hits AS hit
OPTIONAL MATCH (c:Chunk {chunk_id: hit.chunk_id})
OPTIONAL MATCH (s:Source {source_id: hit.source_id})
WITH hit, coalesce(c[hit.property], s[hit.property]) AS vector
WHERE vector IS NOT NULL
RETURN hit.identity AS identity, vector(vector, size(vector), FLOAT32) AS vector
