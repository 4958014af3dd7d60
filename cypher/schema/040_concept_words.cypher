// Full text over what concepts are called and said to be; `scope` holds one token for the ontology.
CREATE FULLTEXT INDEX concept_words IF NOT EXISTS
FOR (c:Concept) ON EACH [c.label, c.search_terms, c.description, c.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}
