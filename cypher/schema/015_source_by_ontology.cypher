// Nothing walks an ontology by source id any more.
DROP INDEX source_by_ontology IF EXISTS
