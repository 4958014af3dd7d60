// How many documents have each value of some fields, the most frequent first: of a list each value once, of dates the
// year, month or day (UTC). The documents are named, or all of some ontologies.
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
WITH collect(d) AS documents
UNWIND range(0, size($facets) - 1) AS at
WITH documents, at, $facets[at] AS facet
CALL (documents, facet) {
  UNWIND documents AS d
  UNWIND coalesce([] + d[facet.property], []) AS each
  WITH DISTINCT d, CASE facet.by
    WHEN 'year' THEN each.year
    WHEN 'month' THEN substring(toString(date(each)), 0, 7)
    WHEN 'day' THEN toString(date(each))
    ELSE each
  END AS value
  WITH value, count(*) AS number ORDER BY number DESC, toString(value)
  RETURN collect({value: value, documents: number}) AS counted
}
RETURN at, size(documents) AS documents, size([d IN documents WHERE size([] + d[facet.property]) > 0]) AS having,
       size(counted) AS distinct_values, counted[..$limit] AS counted
ORDER BY at
