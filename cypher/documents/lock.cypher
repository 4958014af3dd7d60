// Makes documents and their ontology if need be and holds each document until the end of the transaction, so that
// two writers of one document take turns; in the order of their ids, so that writers of several do too. A new
// ontology uses the spaces that are for new ones. Nothing here locks an ontology that is there: `describe` does.
// What waited for approval under a name is not wanted any more, but for what came behind the one that is approved.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
WITH min(CASE WHEN coalesce(e.modality, 'text') = 'text' THEN e.slug END) AS space,
     min(CASE WHEN e.modality = 'image' THEN e.slug END) AS image_space
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = space, o.image_space = image_space
WITH o.space AS space, o.language AS language
UNWIND $documents AS row
MERGE (d:Document {document_id: row.document_id})
ON CREATE SET d.ontology = $ontology, d.document = row.document, d.created_at = datetime.realtime()
SET d.touched_at = datetime.realtime()
WITH d, space, language, row
OPTIONAL MATCH (w:WaitingDocument {document_id: row.document_id})
WHERE row.approves IS NULL OR w.version = row.approves
WITH d, space, language, row, w, w IS NOT NULL AS waited,
     CASE WHEN row.approves IS NOT NULL THEN w {.folder_id, .file_stamp, .file_hash} END AS of_file
FOREACH (each IN CASE WHEN w IS NULL THEN [] ELSE [w] END | DETACH DELETE each)
RETURN d.document_id AS document_id, d.content_hash AS content_hash, d.uri AS uri, d.sources AS sources,
       d.written_by AS written_by, d.title AS title, d.metadata AS metadata, d.changes AS changes,
       space, language, waited, of_file
