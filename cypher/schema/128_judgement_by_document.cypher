// What was judged of a document goes with it.
CREATE INDEX judgement_by_document IF NOT EXISTS FOR (j:Judgement) ON (j.document_id)
