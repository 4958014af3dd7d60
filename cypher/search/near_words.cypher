// What the best texts say that have words like one that no text has: the word that is meant is looked for there.
CYPHER 25
UNWIND $queries AS asked
CALL (asked) {
  CALL db.index.fulltext.queryNodes('source_words', asked.query, {limit: $limit}) YIELD node AS s, score
  WHERE score > 0
  RETURN collect(s.full_text) + collect(coalesce(s.title, '')) + collect(s.document)
         + reduce(every = [], heading IN collect(s.heading) | every + heading) AS texts
}
RETURN collect({word: asked.word, texts: texts}) AS found
