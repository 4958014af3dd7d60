// name: bury
// Delete unused blobs. Their dead blobs name the files to delete. No other blob ever gets the same file name.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
CREATE (:DeadBlob {key: b.key, generation: b.generation})
DETACH DELETE b

// name: dead
// Return deleted blobs whose files still exist. There are few, because each caller deletes the files before it
// deletes more blobs.
MATCH (d:DeadBlob)
RETURN d.key + '-' + d.generation AS name LIMIT $limit

// name: delete_dead
// Forget deleted blobs whose files are deleted.
MATCH (d:DeadBlob)
WHERE d.key + '-' + d.generation IN $names
DELETE d
RETURN count(d) AS deleted

// name: find
MATCH (b:Blob {key: $key})
RETURN b.key + '-' + b.generation AS name

// name: forget_holds
// Delete expired holds of crashed processes.
MATCH (h:BlobHold)
WHERE h.until < datetime.realtime()
WITH h LIMIT 1000
DETACH DELETE h
RETURN count(*) AS forgotten

// name: hold
// Hold blobs before they are written, until release or expiry. A blob is loose until its use is known. A new blob has
// a new generation, so its file name is unique. The first write locks the blob against deletion.
MERGE (h:BlobHold {hold_id: $hold_id})
SET h.until = datetime.realtime() + duration({seconds: $seconds})
WITH h
UNWIND $keys AS key
MERGE (b:Blob {key: key})
ON CREATE SET b.generation = replace(randomUUID(), '-', '')
SET b.touched_at = datetime.realtime(), b:LooseBlob
MERGE (h)-[:HOLDS]->(b)
RETURN b.key AS key, b.key + '-' + b.generation AS name,
       EXISTS { (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-() } AS used

// name: know_store
// Return the store of the database's blobs, or record the first one. The lock of a permanent record serialises
// callers.
MATCH (m:Migration {name: '200_schema'})
SET m.applied_at = m.applied_at
MERGE (s:BlobStore)
ON CREATE SET s.store_id = $store_id
RETURN s.store_id AS store_id

// name: look_at
// Check whether blobs are used or may be used soon. All blobs are locked before the check, so that no concurrent
// transaction is half visible.
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
// Return the next blobs without known use, by key. Blobs of pending documents and held blobs are excluded.
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
// Mark a blob whose file is missing or damaged. Synced folders and ingestion then read the possible source files
// again, even if they look unchanged.
MATCH (b:Blob {key: $key})
SET b.lost = true
WITH b
MATCH (b)<-[:STORED_AS|SHOWN_AS|ORIGINAL]-(n)
MATCH (d:Document {document_id: n.document_id})
WHERE d.file_stamp IS NOT NULL OR d.file_hash IS NOT NULL OR d.sent_as IS NOT NULL
WITH DISTINCT d ORDER BY d.document_id
SET d.file_stamp = null, d.file_hash = null, d.sent_as = null

// name: lost
// Return the blobs whose files were missing or damaged.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
WHERE b.lost
RETURN key

// name: mend
// Unmark restored blobs. Skipped images become pending again, in all spaces.
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
// Release a hold in the transaction that uses its blobs or stores its pending document. The blobs are locked, so that
// a concurrent deletion sees the state before or after.
UNWIND $hold_ids AS hold_id
MATCH (h:BlobHold {hold_id: hold_id})-[:HOLDS]->(b:Blob)
WITH h, b ORDER BY b.key
SET b.touched_at = datetime.realtime()
WITH DISTINCT h
DETACH DELETE h

// name: settle
// Mark blobs as used.
UNWIND $keys AS key
MATCH (b:Blob {key: key})
REMOVE b:LooseBlob

// name: some
// Return the names of some blobs and deleted blobs, to check that the store has their files.
MATCH (b:Blob)
RETURN b.key + '-' + b.generation AS name LIMIT $limit
UNION ALL
MATCH (d:DeadBlob)
RETURN d.key + '-' + d.generation AS name LIMIT $limit

// name: store
// Return the store of the database's blobs, if it is recorded.
MATCH (s:BlobStore)
RETURN s.store_id AS store_id
