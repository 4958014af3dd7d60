// Which documents came from a folder, page by page.
CREATE INDEX document_by_folder IF NOT EXISTS FOR (d:Document) ON (d.folder_id, d.document_id)
