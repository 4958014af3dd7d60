// name: all
// Return all spaces without their users.
MATCH (e:EmbeddingSpace)
RETURN e {.*} AS space
ORDER BY e.created_at, e.slug

// name: begin_dropping
// Start the deletion of a space. Nothing is written to it afterwards.
MATCH (e:EmbeddingSpace {slug: $slug})
SET e.dropping = coalesce(e.dropping, datetime.realtime()), e.held_at = datetime.realtime()

// name: check_chunks
// Count the states of vectors in a batch of an ontology's chunks, by id. Parent chunks have none.
MATCH (c:Chunk)
WHERE c.chunk_id > $after AND c.space = $key AND c.ontology = $ontology
WITH c ORDER BY c.chunk_id LIMIT $limit
WITH c, c[$property] AS vector
RETURN count(c) AS chunks,
       count(CASE WHEN vector IS NULL AND NOT EXISTS { (c)<-[:CHILD_OF]-(:Chunk) } THEN 1 END) AS without,
       count(CASE WHEN size(vector) <> $dimensions OR any(x IN vector WHERE isNaN(x) OR abs(x) > 3.4e38)
                    OR all(x IN vector WHERE x = 0) THEN 1 END) AS wrong,
       count(CASE WHEN NOT EXISTS { (c)-[:CHUNK_OF]->(:Source) } THEN 1 END) AS orphans,
       max(c.chunk_id) AS last

// name: check_sources
// Count the states of vectors in a batch of an ontology's sources, in reading order. Neo4j stores vectors of a wrong
// size, zero vectors and non-finite vectors without an error, but does not index them.
MATCH (s:Source)
USING INDEX s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after_document AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE s.document_id > $after_document OR s.paragraph > $after_paragraph
WITH s LIMIT $limit
WITH s, s[$property] AS vector, s[$mark_property] = $mark AS built
RETURN count(CASE WHEN built THEN 1 END) AS built,
       count(CASE WHEN built AND vector IS NULL
                   AND NOT EXISTS { MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = $key } THEN 1 END) AS without,
       count(CASE WHEN size(vector) <> $dimensions OR any(x IN vector WHERE isNaN(x) OR abs(x) > 3.4e38)
                    OR all(x IN vector WHERE x = 0) THEN 1 END) AS wrong,
       collect([s.document_id, s.paragraph])[-1] AS last

// name: concept_sample
// Return some embedded concepts for calibration, or none if a recent one exists. Ids are hashes, so their order is
// random. The number of read concepts is limited, because few of them may be embedded.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.labels_measured_at IS NULL OR e.labels_measured_at < datetime.realtime() - duration({hours: $hours})
MATCH (c:Concept)
WHERE c.concept_id > ''
WITH c ORDER BY c.concept_id LIMIT $walked
WHERE c[$property] IS NOT NULL
RETURN c.label AS label, c[$property] AS vector
ORDER BY c.concept_id
LIMIT $limit

// name: create_concept_index
// Create the vector index of a space's concepts, with search filters inside. The statement is for the first space.
// Names of other spaces' indexes and properties end with the slug.
CYPHER 25
CREATE VECTOR INDEX $name IF NOT EXISTS
FOR (n:Concept) ON n.embedding
WITH [n.ontology]
OPTIONS $options

// name: create_image_index
// Create the vector index of a space's images, with search filters inside. The statement is for the first space.
// Names of other spaces' indexes and properties end with the slug.
CYPHER 25
CREATE VECTOR INDEX $name IF NOT EXISTS
FOR (n:Image) ON n.embedding
WITH [n.ontology, n.document_id]
OPTIONS $options

// name: create_index
// Create the vector index of a space, with search filters inside. The statement is for the first space. Names of
// other spaces' indexes and properties end with the slug.
CYPHER 25
CREATE VECTOR INDEX $name IF NOT EXISTS
FOR (n:Source|Chunk) ON n.embedding
WITH [n.ontology, n.document_id]
OPTIONS $options

// name: create_relation_index
// Create the vector index of a space's relationships, with search filters inside. The statement is for the first
// space. Names of other spaces' indexes and properties end with the slug.
CYPHER 25
CREATE VECTOR INDEX $name IF NOT EXISTS
FOR ()-[n:RELATED_TO]-() ON n.embedding
WITH [n.ontology, n.type_key]
OPTIONS $options

// name: delete
// Delete a space after its vectors. A later space with the same name is not the previous default.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE toString(e.dropping) = $since
OPTIONAL MATCH (after:EmbeddingSpace {for_new_after: $slug})
SET after.for_new_after = null
WITH DISTINCT e
DELETE e

// name: drop_index
// Drop a vector index of a deleted space.
DROP INDEX $name IF EXISTS

// name: find
MATCH (e:EmbeddingSpace {slug: $slug})
RETURN e {.*} AS space

// name: hold
// Lock spaces by name and return the ones that are not being deleted. Deletion and first use take turns.
UNWIND $slugs AS slug
MATCH (e:EmbeddingSpace {slug: slug})
SET e.held_at = datetime.realtime()
WITH e
WHERE e.dropping IS NULL
RETURN e.slug AS slug

// name: of_new_before
// Return the previous default space of the same modality, if it exists.
MATCH (e:EmbeddingSpace {slug: $slug})
MATCH (before:EmbeddingSpace {slug: e.for_new_after})
WHERE before.dropping IS NULL AND coalesce(before.modality, 'text') = coalesce(e.modality, 'text')
RETURN before.slug AS slug

// name: register
// Register a space once with an unchangeable identity.
MERGE (e:EmbeddingSpace {slug: $slug})
ON CREATE SET e += $identity, e.property = $property, e.index_name = $index_name,
              e.created_at = datetime.realtime()

// name: remember_contrast
// Store the model's cosines of related and unrelated texts.
MATCH (e:EmbeddingSpace {slug: $slug})
SET e.related = $related, e.unrelated = $unrelated
RETURN e.slug AS slug

// name: remember_labels
// Store the calibration of cosines between queries and stored concepts. The latest one counts.
MATCH (e:EmbeddingSpace {slug: $slug})
SET e.labels_related = $related, e.labels_unrelated = $unrelated, e.labels_measured_at = datetime.realtime()
RETURN e.slug AS slug

// name: remember_probe
// Store the model's vector of the probe text once.
CYPHER 25
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.probe IS NULL
CALL db.create.setNodeVectorProperty(e, 'probe', toFloatList($vector))
RETURN e.slug AS slug

// name: require_dropping
// Check whether the same deletion of a space is still running.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE toString(e.dropping) = $since
RETURN e.slug AS slug

// name: sample
// Return some vectors of an ontology's sources or chunks in a slot, to check whether the index finds them.
UNWIND $places AS place
CALL (place) {
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id >= place AND s.paragraph >= 0 AND s[$mark_property] = $mark
  RETURN s LIMIT 1
}
WITH DISTINCT s
WITH s, CASE WHEN s[$property] IS NOT NULL THEN null ELSE COLLECT {
       MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = $key AND c[$property] IS NOT NULL RETURN c LIMIT 1
     }[0] END AS c
RETURN s.source_id AS source_id, c.chunk_id AS chunk_id, coalesce(s[$property], c[$property]) AS vector

// name: to_drop
// Return the spaces that are being deleted, with the start and duration of the deletion.
MATCH (e:EmbeddingSpace)
WHERE e.dropping IS NOT NULL
RETURN e.slug AS slug, toString(e.dropping) AS since, duration.inSeconds(e.dropping, datetime.realtime()).seconds AS seconds
ORDER BY slug

// name: use_for_new
// Set the default space for texts or images, and keep the previous one for a return.
MATCH (chosen:EmbeddingSpace {slug: $slug})
MATCH (e:EmbeddingSpace)
WHERE coalesce(e.modality, 'text') = coalesce(chosen.modality, 'text')
WITH chosen, collect(e) AS all, min(CASE WHEN e.for_new THEN e.slug END) AS before,
     CASE chosen.modality WHEN 'image' THEN $first_of_images ELSE $first END AS first
WITH chosen, all, coalesce(before, first) AS before
SET chosen.for_new_after = CASE WHEN before = $slug THEN chosen.for_new_after ELSE before END
WITH all
UNWIND all AS e
SET e.for_new = CASE WHEN e.slug = $slug THEN true ELSE null END

// name: writable
// Return a space that is not being deleted.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.dropping IS NULL
RETURN e.fingerprint AS fingerprint
