// How the relationships of some ontologies are embedded, all together; each ontology's by the marks they should have.
UNWIND $plans AS plan
MATCH ()-[r:RELATED_TO]->()
WHERE r.ontology = plan.ontology AND r.relation_id > ''
WITH r[plan.mark_property] AS mark, r[plan.answering_property] AS answering, plan.mark + ':' + r.text_hash AS right,
     plan.refused + ':' + r.text_hash AS refused
RETURN count(*) AS total, count(CASE WHEN mark = right THEN 1 END) AS embedded,
       count(CASE WHEN mark = refused THEN 1 END) AS refused,
       count(CASE WHEN coalesce(mark, answering) IS NULL THEN 1 END) AS missing
