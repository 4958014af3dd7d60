// How the concepts of some ontologies are embedded, all together; each ontology's by the marks that they should have.
UNWIND $plans AS plan
MATCH (c:Concept)
WHERE c.ontology = plan.ontology AND c.concept_id > ''
WITH c[plan.mark_property] AS mark, c[plan.answering_property] AS answering, plan.mark + ':' + c.text_hash AS right,
     plan.refused + ':' + c.text_hash AS refused,
     NOT plan.wants_all AND COUNT { (c)-[:APPEARS_IN]->() } <= 1 AS waits
RETURN count(*) AS total, count(CASE WHEN mark = right THEN 1 END) AS embedded,
       count(CASE WHEN mark = refused THEN 1 END) AS refused,
       count(CASE WHEN coalesce(mark, answering) IS NULL AND NOT waits THEN 1 END) AS missing,
       count(CASE WHEN coalesce(mark, answering) IS NULL AND waits THEN 1 END) AS deferred
