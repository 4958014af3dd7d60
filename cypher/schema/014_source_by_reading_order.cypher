// Backfill walks an ontology's sources in reading order, for a chunk may cover several.
CREATE INDEX source_by_reading_order IF NOT EXISTS FOR (s:Source) ON (s.ontology, s.document_id, s.paragraph)
