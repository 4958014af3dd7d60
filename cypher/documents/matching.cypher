// The documents for which all conditions hold, by ontology and name; a row for each ontology, for rows are slow. A value
// that is no list is looked at as a list of one. Where a date is asked for, what the document has of dates is compared,
// and its texts only where it has none.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.document_id IN $document_ids RETURN d
  }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN d
  }
  ELSE { MATCH (d:Document) WHERE d.ontology >= '' AND d.document >= '' RETURN d }
}
WITH d
WHERE d.content_hash IS NOT NULL AND all(c IN $conditions WHERE
  any(times IN [CASE WHEN size(c.spans) = 0 THEN [] ELSE coalesce([] + d[c.times], []) END] WHERE
  any(values IN [CASE WHEN size(times) > 0 THEN [] ELSE coalesce([] + d[c.property], []) END] WHERE
    coalesce(CASE c.op
      WHEN 'in' THEN any(v IN values WHERE v IN c.values)
        OR any(t IN times WHERE any(s IN c.spans WHERE t >= s.start AND t < s.until))
      WHEN 'not in' THEN none(v IN values WHERE v IN c.values)
        AND none(t IN times WHERE any(s IN c.spans WHERE t >= s.start AND t < s.until))
      WHEN '<' THEN any(v IN values WHERE v < c.values[0]) OR any(t IN times WHERE t < c.spans[0].start)
      WHEN '<=' THEN any(v IN values WHERE v <= c.values[0]) OR any(t IN times WHERE t < c.spans[0].until)
      WHEN '>' THEN any(v IN values WHERE v > c.values[0]) OR any(t IN times WHERE t >= c.spans[0].until)
      WHEN '>=' THEN any(v IN values WHERE v >= c.values[0]) OR any(t IN times WHERE t >= c.spans[0].start)
      WHEN 'contains' THEN any(v IN values WHERE v IN c.values)
        OR (d[c.property] IS :: STRING NOT NULL AND toLower(d[c.property]) CONTAINS toLower(toString(c.values[0])))
      WHEN 'exists' THEN size(values) > 0
      WHEN 'missing' THEN size(values) = 0
    END, false))))
WITH d.document_id AS document_id, d.ontology AS ontology ORDER BY ontology, d.document
RETURN ontology, collect(document_id) AS document_ids
ORDER BY ontology
