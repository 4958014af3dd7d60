// Some ontologies with their counts; each is counted by the mark that its sources should have.
UNWIND $plans AS plan
MATCH (o:Ontology {name: plan.ontology})
RETURN o.name AS ontology, plan.space AS space,
       COUNT { MATCH (d:Document {ontology: o.name}) } AS documents,
       COUNT { MATCH (s:Source {ontology: o.name}) } AS sources,
       COUNT { MATCH (s:Source {ontology: o.name}) WHERE s[plan.mark_property] = plan.mark } AS embedded,
       COUNT { MATCH (s:Source {ontology: o.name}) WHERE s[plan.mark_property] <> plan.mark } AS stale
ORDER BY ontology
