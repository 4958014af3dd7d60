// The title of a document on its sources, where full text looks for it.
MATCH (s:Source {document_id: $document_id})
SET s.title = $title
