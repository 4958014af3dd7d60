// The documents that fit a filter, a row for each ontology, for rows are slow; in the order of their names where that
// is asked for: ordering takes as long as choosing. Of each condition one alternative holds, of it all conditions. A
// value that is no list is looked at as a list of one. Where a date is asked for ('time ...'), what the document has of
// dates is compared, and its texts only where it has none; a text that is no date is neither before nor behind one. Each
// condition reads one property where it can.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.document_id IN $document_ids RETURN d
  }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN d
  }
  ELSE { MATCH (d:Document) RETURN d }
}
WITH d
WHERE all(alternatives IN $conditions WHERE any(conditions IN alternatives WHERE all(c IN conditions WHERE
  CASE c.op
    WHEN 'in' THEN any(v IN [] + d[c.property] WHERE v IN c.values)
    WHEN 'not in' THEN NOT coalesce(any(v IN [] + d[c.property] WHERE v IN c.values), false)
    WHEN '<' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v < c.values[0])
    WHEN '<=' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v <= c.values[0])
    WHEN '>' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v > c.values[0])
    WHEN '>=' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v >= c.values[0])
    WHEN 'exists' THEN size([] + d[c.property]) > 0
    WHEN 'missing' THEN coalesce(size([] + d[c.property]), 0) = 0
    WHEN 'contains' THEN any(v IN [] + d[c.property] WHERE v IN c.values)
      OR (d[c.property] IS :: STRING NOT NULL
          AND any(v IN c.values WHERE toLower(d[c.property]) CONTAINS toLower(toString(v))))
    ELSE any(times IN [coalesce([] + d[c.times], [])] WHERE CASE
      WHEN size(times) = 0 THEN CASE c.op
        WHEN 'time in' THEN any(v IN [] + d[c.property] WHERE v IN c.values)
        WHEN 'time not in' THEN NOT coalesce(any(v IN [] + d[c.property] WHERE v IN c.values), false)
        WHEN 'time <' THEN any(v IN [] + d[c.property] WHERE v < c.values[0])
        WHEN 'time <=' THEN any(v IN [] + d[c.property] WHERE v <= c.values[0])
        WHEN 'time >' THEN any(v IN [] + d[c.property] WHERE v > c.values[0])
        WHEN 'time >=' THEN any(v IN [] + d[c.property] WHERE v >= c.values[0])
      END
      WHEN c.op = 'time in' THEN any(t IN times WHERE any(s IN c.spans WHERE t >= s.start AND t < s.until))
      WHEN c.op = 'time not in' THEN none(t IN times WHERE any(s IN c.spans WHERE t >= s.start AND t < s.until))
      WHEN c.op = 'time <' THEN any(t IN times WHERE t < c.spans[0].start)
      WHEN c.op = 'time <=' THEN any(t IN times WHERE t < c.spans[0].until)
      WHEN c.op = 'time >' THEN any(t IN times WHERE t >= c.spans[0].until)
      WHEN c.op = 'time >=' THEN any(t IN times WHERE t >= c.spans[0].start)
    END)
  END)))
WITH collect(d) AS fitting
CALL (fitting) {
  WHEN $in_order THEN {
    UNWIND fitting AS d
    WITH d.document_id AS document_id, d.ontology AS ontology ORDER BY ontology, d.document
    RETURN ontology, collect(document_id) AS document_ids
  }
  ELSE { UNWIND fitting AS d RETURN d.ontology AS ontology, collect(d.document_id) AS document_ids }
}
RETURN ontology, document_ids
ORDER BY ontology
