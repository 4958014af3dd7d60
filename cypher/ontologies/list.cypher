// Some ontologies with their counts; each is counted by the mark that its sources should have, and by the one that
// those have which answer searches. Where all are flagged that have not the mark, the others are those that documents
// tell of; else every source is read. All keys of an index are named, for it is not used by its first one alone.
CYPHER 25
UNWIND $plans AS plan
MATCH (o:Ontology {name: plan.ontology})
CALL (o) {
  MATCH (d:Document)
  WHERE d.ontology = o.name AND d.document >= ''
  RETURN count(d) AS documents, sum(d.sources) AS stored
}
CALL (o, plan, stored) {
  WHEN NOT plan.building AND coalesce(o.flagged_for = plan.mark_property + ':' + plan.mark, false) THEN {
    OPTIONAL MATCH (s:Source)
    USING INDEX SEEK s:Source(ontology, unembedded, document_id, paragraph)
    WHERE s.ontology = o.name AND s.unembedded = true AND s.document_id >= '' AND s.paragraph >= 0
    WITH stored, s, coalesce(s[plan.mark_property], '') AS mark, s[plan.answering_property] AS answering
    WITH stored, count(CASE WHEN s IS NOT NULL AND mark <> plan.mark THEN 1 END) AS others,
         count(CASE WHEN mark = plan.refused THEN 1 END) AS refused,
         count(CASE WHEN mark <> plan.mark AND mark <> plan.refused AND mark <> '' THEN 1 END) AS stale,
         count(CASE WHEN s IS NOT NULL AND coalesce(answering, 'refused:') STARTS WITH 'refused:' THEN 1 END) AS lost
    RETURN stored AS sources, stored - others AS embedded, refused, stale, stored - lost AS searchable
  }
  ELSE {
    MATCH (s:Source)
    WHERE s.ontology = o.name AND s.document_id >= '' AND s.paragraph >= 0
    WITH s[plan.mark_property] AS mark, s[plan.answering_property] AS answering
    RETURN count(*) AS sources, count(CASE WHEN mark = plan.mark THEN 1 END) AS embedded,
           count(CASE WHEN mark = plan.refused THEN 1 END) AS refused,
           count(CASE WHEN coalesce(mark, answering) IS NOT NULL AND coalesce(mark, '') <> plan.mark
                       AND coalesce(mark, '') <> plan.refused THEN 1 END) AS stale,
           count(CASE WHEN NOT answering STARTS WITH 'refused:' THEN 1 END) AS searchable
  }
}
CALL (o) {
  MATCH (s:Image)
  WHERE s.ontology = o.name
  RETURN count(s) AS images
}
RETURN o.name AS ontology, plan.space AS space, documents, sources, images, embedded, stale, refused, searchable,
       plan.building AS building
ORDER BY ontology
