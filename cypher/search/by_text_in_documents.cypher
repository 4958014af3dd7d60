// Of the best sources that full text finds those of some documents, which are too many to be asked for within the
// index, or that fit conditions of sources; else as in by_text. The first row says how many were looked at: fewer than candidates are all there are.
CYPHER 25
CALL () {
  CALL db.index.fulltext.queryNodes('source_words', $query, {limit: $candidates}) YIELD node AS s, score
  WITH s, score, score > 0 AND ($document_ids IS NULL OR s.document_id IN $document_ids)
       AND ($image IS NULL OR s:Image = $image) AND fits(s) AS fitting
  WITH s, score, fitting,
       CASE WHEN fitting AND ($pairs <> [] OR $watched <> []) THEN ' ' + replace(toLower(s.full_text), '\n', ' ') + ' ' ELSE '' END AS said
  WITH s, fitting, said, score * (1 + $weight * size([pair IN $pairs WHERE said CONTAINS pair])) AS score
  ORDER BY score DESC, s.source_id
  RETURN count(s) AS looked, collect(CASE WHEN fitting THEN {s: s, score: score, said: said} END)[..$limit] AS best
}
CALL (best) {
  UNWIND best AS each
  WITH each.s AS s, each.score AS score, coalesce($spaces[each.s.ontology], 'default') AS space,
       replace(replace(each.said, ',', ' '), '.', ' ') AS said
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
  }) AS kept
}
RETURN [{looked: looked}] + kept AS found
