// The last jobs of an ontology are looked at with each document that is stored; jobs that ended are kept for days.
CREATE INDEX job_by_ontology IF NOT EXISTS FOR (j:Job) ON (j.ontology, j.kind)
