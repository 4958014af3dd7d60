// name: check_vectors
// Count the states of an ontology's image vectors in a space. Neo4j stores vectors of a wrong size, zero vectors and
// non-finite vectors without an error, but does not index them.
MATCH (s:Image)
WHERE s.ontology = $ontology AND s.source_id > '' AND s[$mark_property] = $mark + ':' + s.storage_key
WITH s[$property] AS vector
RETURN count(*) AS built,
       count(CASE WHEN vector IS NULL OR size(vector) <> $dimensions
                    OR any(x IN vector WHERE isNaN(x) OR abs(x) > 3.4e38) OR all(x IN vector WHERE x = 0)
                  THEN 1 END) AS wrong

// name: count
MATCH (s:Image)
WHERE $ontologies IS NULL OR s.ontology IN $ontologies
RETURN count(s) AS images

// name: find
// Return the files of an image.
MATCH (s:Source {source_id: $source_id})
WHERE s:Image
RETURN s.storage_key AS storage_key, s.thumbnail_key AS thumbnail_key, s.content_type AS content_type,
       s.document AS document, s.ontology AS ontology

// name: forget
// Remove the image label from unchanged sources that were images before.
UNWIND $document_ids AS document_id
MATCH (s:Image {document_id: document_id})
WHERE NOT s.source_id IN $source_ids
REMOVE s:Image, s.storage_key, s.thumbnail_key, s.content_type, s.width, s.height, s.bytes
WITH s
MATCH (s)-[r:STORED_AS|SHOWN_AS]->(b:Blob)
SET b.touched_at = datetime.realtime(), b:LooseBlob
DELETE r
RETURN collect(DISTINCT s.source_id) AS forgotten

// name: forget_vectors
// Delete vectors and marks of sources with another image file, or without one now, in all image spaces.
UNWIND $source_ids AS source_id
MATCH (s:Source {source_id: source_id})
FOREACH (name IN $properties | SET s[name] = null)

// name: having
// Return the ontologies that have an image.
UNWIND $ontologies AS name
WITH name WHERE EXISTS { MATCH (s:Image) WHERE s.ontology = name }
RETURN name

// name: page
// Return images in the order of their documents, with their texts.
MATCH (s:Image)
WHERE $ontologies IS NULL OR s.ontology IN $ontologies
WITH s ORDER BY s.ontology, s.document, s.document_id, s.paragraph SKIP $offset LIMIT $limit
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence IS NOT NULL AS ocr, s.ocr_confidence AS ocr_confidence,
       s.full_text AS full_text,
       CASE WHEN s:Image THEN 'image' ELSE 'passage' END AS kind,
       CASE WHEN s:Image THEN s {.storage_key, .content_type, .width, .height, .bytes} END AS image

// name: write
// Label sources as images and set their files. Previous files may become unused. Files without a hold may be deleted,
// or created but not written yet.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
WITH s, row, s.storage_key AS before, coalesce(s.storage_key <> row.image.storage_key, true) AS changed
SET s:Image, s += row.image
WITH s, row, before, changed
CALL (s, row) {
  MATCH (s)-[r:STORED_AS|SHOWN_AS]->(was:Blob)
  WHERE NOT was.key IN [row.image.storage_key, row.image.thumbnail_key]
  SET was.touched_at = datetime.realtime(), was:LooseBlob
  DELETE r
}
MATCH (file:Blob {key: row.image.storage_key})
MATCH (thumbnail:Blob {key: row.image.thumbnail_key})
SET file.touched_at = datetime.realtime(), thumbnail.touched_at = datetime.realtime()
WITH s, row, before, changed, file, thumbnail
WHERE row.hold IS NULL OR all(blob IN [file, thumbnail] WHERE EXISTS { (:BlobHold {hold_id: row.hold})-[:HOLDS]->(blob) })
MERGE (s)-[:STORED_AS]->(file)
MERGE (s)-[:SHOWN_AS]->(thumbnail)
RETURN count(s) AS written, collect(CASE WHEN changed THEN s.document_id END) AS changed,
       collect(CASE WHEN changed AND before IS NOT NULL THEN s.source_id END) AS replaced
