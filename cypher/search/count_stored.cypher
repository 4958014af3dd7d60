// About how many passages each of some ontologies has: its sources, by what its documents tell, and as many chunks
// as the first of them have.
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
