// Some ontologies with their counts; each is counted by the mark that its sources should have. All keys of an index
// are named, for it is not used by its first one alone.
UNWIND $plans AS plan
MATCH (o:Ontology {name: plan.ontology})
CALL (o, plan) {
  MATCH (s:Source)
  WHERE s.ontology = o.name AND s.document_id >= '' AND s.paragraph >= 0
  RETURN count(s) AS sources, count(CASE WHEN s[plan.mark_property] = plan.mark THEN 1 END) AS embedded,
         count(CASE WHEN s[plan.mark_property] <> plan.mark THEN 1 END) AS stale
}
RETURN o.name AS ontology, plan.space AS space,
       COUNT { MATCH (d:Document) WHERE d.ontology = o.name AND d.document >= '' } AS documents,
       sources, embedded, stale
ORDER BY ontology
