// How the pictures of some ontologies are embedded, all together; each ontology's by the marks that they should have.
UNWIND $plans AS plan
MATCH (s:Image)
WHERE s.ontology = plan.ontology AND s.source_id > ''
WITH s[plan.mark_property] AS mark, s[plan.answering_property] AS answering, plan.mark + ':' + s.storage_key AS right,
     plan.refused + ':' + s.storage_key AS refused
RETURN count(*) AS total, count(CASE WHEN mark = right THEN 1 END) AS embedded,
       count(CASE WHEN mark = refused THEN 1 END) AS refused,
       count(CASE WHEN coalesce(mark, answering) IS NULL THEN 1 END) AS missing
