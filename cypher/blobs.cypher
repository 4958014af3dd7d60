// name: bury
// Blobs that nothing uses go. What is left tells which files are to be deleted: names that no blob has any more, nor
// ever will have.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
CREATE (:DeadBlob {key: b.key, generation: b.generation})
DETACH DELETE b

// name: dead
// Blobs that have gone, and whose files are to be deleted. There are never many: who finds some deletes their files
// before it makes more.
MATCH (d:DeadBlob)
RETURN d.key AS key, d.generation AS generation LIMIT $limit

// name: delete_dead
// Blobs that have gone, and their files with them.
MATCH (d:DeadBlob)
WHERE d.key + coalesce(d.generation, '') IN $dead
DELETE d
RETURN count(d) AS deleted

// name: find
// A blob, and of which generation its file is.
MATCH (b:Blob {key: $key})
RETURN b.key AS key, b.generation AS generation

// name: forget_holds
// Holds that ended by themselves: whoever made them has died.
MATCH (h:BlobHold)
WHERE h.until < datetime.realtime()
WITH h LIMIT 1000
DETACH DELETE h
RETURN count(*) AS forgotten

// name: hold
// Keeps blobs that are about to be written and used, until the hold is released or ends by itself. A blob is loose
// until it is known to be used. One that is made now is of a generation that never was: its file has a name of its own.
// The property is written first: it locks the blob against whoever collects it.
MERGE (h:BlobHold {hold_id: $hold_id})
SET h.until = datetime.realtime() + duration({seconds: $seconds})
WITH h
UNWIND $keys AS key
MERGE (b:Blob {key: key})
ON CREATE SET b.generation = replace(randomUUID(), '-', '')
SET b.touched_at = datetime.realtime(), b:LooseBlob
MERGE (h)-[:HOLDS]->(b)
RETURN b.key AS key, b.generation AS generation,
       EXISTS { (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-() } AS used

// name: know_store
// The store that has the files of this database's blobs: the first one that was used. There is one, for whoever comes
// takes turns by the lock of a record that is always there.
MATCH (m:Migration {name: '200_schema'})
SET m.applied_at = m.applied_at
MERGE (s:BlobStore)
ON CREATE SET s.store_id = $store_id
RETURN s.store_id AS store_id

// name: look_at
// Whether blobs are used, and whether they may be soon; all are locked before any is looked at, so that no transaction
// that uses or frees one is half seen.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
SET b.touched_at = datetime.realtime()
WITH collect(b) AS blobs
CALL () {
  MATCH (w:WaitingDocument)
  UNWIND w.blobs AS key
  RETURN collect(DISTINCT key) AS waiting
}
UNWIND blobs AS b
RETURN b.key AS key, EXISTS { (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-() } AS used,
       b.key IN waiting OR EXISTS { MATCH (b)<-[:HOLDS]-(h:BlobHold) WHERE h.until >= datetime.realtime() } AS wanted

// name: loose
// The next blobs that may be unused, in the order of an index. Those that wait with their documents, or are held, may be
// used soon.
CALL () {
  MATCH (w:WaitingDocument)
  UNWIND w.blobs AS key
  RETURN collect(DISTINCT key) AS waiting
}
MATCH (b:LooseBlob)
USING INDEX b:LooseBlob(key)
WHERE b.key > $after AND NOT b.key IN waiting AND NOT EXISTS {
  MATCH (b)<-[:HOLDS]-(h:BlobHold) WHERE h.until >= datetime.realtime()
}
RETURN b.key AS key ORDER BY b.key LIMIT $limit

// name: lose
// A blob whose file is missing or damaged. Followed folders read the files again that it may come from, though they look
// as they did.
MATCH (b:Blob {key: $key})
SET b.lost = true
WITH b
MATCH (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-(n)
MATCH (d:Document {document_id: n.document_id})
WHERE d.file_stamp IS NOT NULL OR d.file_hash IS NOT NULL
WITH DISTINCT d ORDER BY d.document_id
SET d.file_stamp = null, d.file_hash = null

// name: lost
// Blobs whose files were seen to be missing or damaged.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
WHERE b.lost
RETURN key

// name: mend
// Blobs whose files are whole again, and the pictures that were set aside, which are due now. A picture may be set
// aside in several spaces.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
SET b.lost = null
WITH b
MATCH (b)<-[:STORED_AS]-(s:Image)
UNWIND $spaces AS space
WITH s, space
WHERE s[space.mark_property] STARTS WITH 'refused:'
SET s[space.mark_property] = null, s[space.refusal_property] = null
RETURN count(DISTINCT s) AS due

// name: release
// What was held is used now, or waits with its document; in the transaction that says so. Blobs are locked: who
// collects one sees what was before, or what is after.
UNWIND $hold_ids AS hold_id
MATCH (h:BlobHold {hold_id: hold_id})-[:HOLDS]->(b:Blob)
WITH h, b ORDER BY b.key
SET b.touched_at = datetime.realtime()
WITH DISTINCT h
DETACH DELETE h

// name: settle
// Blobs that are used.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
REMOVE b:LooseBlob

// name: some
// Some blobs, whose files the right store has; and some that have gone, whose files it may still have.
MATCH (b:Blob)
RETURN b.key AS key, b.generation AS generation, false AS dead LIMIT $limit
UNION ALL
MATCH (d:DeadBlob)
RETURN d.key AS key, d.generation AS generation, true AS dead LIMIT $limit

// name: store
// The store that has the files of this database's blobs, where it is known.
MATCH (s:BlobStore)
RETURN s.store_id AS store_id
