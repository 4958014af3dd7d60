// Full text over what a source says, its headings, its document's title and name; `scope` holds one token for the
// ontology and one for the document, so that filters run inside the index.
CREATE FULLTEXT INDEX source_words IF NOT EXISTS
FOR (s:Source) ON EACH [s.full_text, s.heading, s.title, s.document, s.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english', `fulltext.eventually_consistent`: false}}
