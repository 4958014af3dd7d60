// The sources that full text finds, with their similarity where question and source have vectors of one space.
// A source that has chunks is as similar as the nearest of them, which is the part that it is shown by. Where no
// vector is compared, the source itself is what matched; what is read in its place is known all the same.
// Of words that the index leaves out only the filter would be asked, which scores nothing.
// Of more candidates than are wanted those count more that have pairs of words as the question has them, one beside the
// other; words that the index leaves out are seen there, too.
// Words that are watched are told where a text has them between blanks, for a part of another word is not that word: of
// one that none has, others may be meant. Beside other signs than these one may be missed: it is looked up by itself.
// Chunks are looked for where they can be alone: a COLLECT within CASE is run for every row, which took a fifth.
CYPHER 25
CALL db.index.fulltext.queryNodes('source_words', $query, {limit: $candidates}) YIELD node AS s, score
WHERE score > 0
WITH s, score, CASE WHEN $pairs = [] AND $watched = [] THEN '' ELSE ' ' + replace(toLower(s.full_text), '\n', ' ') + ' ' END AS said
WITH s, said, score * (1 + $weight * size([pair IN $pairs WHERE said CONTAINS pair])) AS score
ORDER BY score DESC, s.source_id LIMIT $limit
WITH s, score, coalesce($spaces[s.ontology], 'default') AS space, replace(replace(said, ',', ' '), '.', ' ') AS said
WITH s, score, space, [word IN $watched WHERE said CONTAINS ' ' + word + ' '] AS seen
WITH s, score, space, seen, $vectors[space] AS asked, $properties[space] AS property
WITH s, score, space, seen, asked, property, 2 * vector.similarity.cosine(s[property], asked) - 1 AS own
OPTIONAL CALL (s, space, asked, property, own) {
  MATCH (parent:Chunk)<-[:CHILD_OF]-(c:Chunk)-[:CHUNK_OF]->(s) WHERE asked IS NULL AND c.space = space
  RETURN {
    chunk_id: s.source_id, offset: 0, end_offset: size(s.full_text), covers: [s.source_id], near: null,
    parent_id: parent.chunk_id
  } AS chunk ORDER BY c.offset, c.chunk_id LIMIT 1
  UNION ALL
  MATCH (c:Chunk)-[:CHUNK_OF]->(s)
  WHERE asked IS NOT NULL AND own IS NULL AND c.space = space AND c[property] IS NOT NULL
  WITH c, 2 * vector.similarity.cosine(c[property], asked) - 1 AS near ORDER BY near DESC, c.chunk_id LIMIT 1
  OPTIONAL MATCH (c)-[:CHILD_OF]->(parent:Chunk)
  RETURN {
    chunk_id: c.chunk_id, offset: c.offset, end_offset: c.end_offset, near: near, parent_id: parent.chunk_id,
    covers: COLLECT { MATCH (c)-[:CHUNK_OF]->(part:Source) RETURN part.source_id ORDER BY part.paragraph }
  } AS chunk
}
WITH s, score, seen, asked, chunk, coalesce(own, chunk.near) AS similarity
ORDER BY score DESC, s.source_id
RETURN collect({
  source_id: s.source_id, ontology: s.ontology, document_id: s.document_id,
  chunk_id: chunk.chunk_id, offset: chunk.offset, end_offset: chunk.end_offset,
  covers: chunk.covers, parent_id: chunk.parent_id, similarity: similarity,
  asked: asked IS NOT NULL, score: score, seen: seen
}) AS found
