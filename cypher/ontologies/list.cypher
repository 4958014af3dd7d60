// Some ontologies with their counts; each is counted by the mark that its sources should have, and by the one that
// those have which answer searches. All keys of an index are named, for it is not used by its first one alone.
UNWIND $plans AS plan
MATCH (o:Ontology {name: plan.ontology})
CALL (o, plan) {
  MATCH (s:Source)
  WHERE s.ontology = o.name AND s.document_id >= '' AND s.paragraph >= 0
  WITH s[plan.mark_property] AS mark, s[plan.answering_property] AS answering
  RETURN count(*) AS sources, count(CASE WHEN mark = plan.mark THEN 1 END) AS embedded,
         count(CASE WHEN mark = plan.refused THEN 1 END) AS refused,
         count(CASE WHEN coalesce(mark, answering) IS NOT NULL AND coalesce(mark, '') <> plan.mark
                     AND coalesce(mark, '') <> plan.refused THEN 1 END) AS stale,
         count(CASE WHEN NOT answering STARTS WITH 'refused:' THEN 1 END) AS searchable
}
RETURN o.name AS ontology, plan.space AS space,
       COUNT { MATCH (d:Document) WHERE d.ontology = o.name AND d.document >= '' } AS documents,
       sources, embedded, stale, refused, searchable, plan.building AS building
ORDER BY ontology
