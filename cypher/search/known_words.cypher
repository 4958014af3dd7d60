// Which of some words the full-text index finds where a search looks: one text is enough.
CYPHER 25
UNWIND $queries AS asked
CALL (asked) {
  CALL db.index.fulltext.queryNodes('source_words', asked.query, {limit: 1}) YIELD score
  WHERE score > 0
  RETURN count(score) AS times
}
WITH asked, times WHERE times > 0
RETURN collect(DISTINCT asked.word) AS found
