// name: about
// Return the properties of documents for chunk contexts and parsers.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
RETURN d.document_id AS document_id, d.title AS title, d.metadata AS metadata,
       d.document AS document, d.format AS format

// name: aliased
// Return documents whose first source has the full-text token of an alias.
CALL db.index.fulltext.queryNodes('source_words', $query, {limit: $limit}) YIELD node AS s
WHERE s.paragraph = 0 AND ($ontologies IS NULL OR s.ontology IN $ontologies)
RETURN s.document_id AS document_id, s.ontology AS ontology, s.document AS document
ORDER BY ontology, document

// name: as_sent
// Return a document that was read from the same file, with the stored files of its images and of itself. A pending
// version excludes it, because a file that is sent again replaces that version.
MATCH (d:Document {document_id: $document_id})
WHERE d.sent_as = $sent_hash + d.content_hash AND NOT EXISTS { (:WaitingDocument {document_id: $document_id}) }
RETURN d.title AS title, d.sources AS sources, COLLECT {
  MATCH (d)-[:ORIGINAL]->(b:Blob) RETURN b.key + '-' + b.generation
  UNION ALL
  MATCH (s:Source)-[:STORED_AS|SHOWN_AS]->(b:Blob)
  WHERE s.document_id = $document_id AND s.paragraph >= 0
  RETURN b.key + '-' + b.generation
} AS blobs

// name: begin_with
// Return documents with an id prefix. More than one is ambiguous.
MATCH (d:Document)
WHERE d.document_id STARTS WITH $prefix AND ($ontologies IS NULL OR d.ontology IN $ontologies)
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document
ORDER BY document_id
LIMIT $limit

// name: change
// Set properties of a document. Null deletes a property. The write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
MATCH (d:Document {document_id: $document_id})
SET d += $properties, d.updated_at = datetime.realtime()

// name: count
CYPHER 25
CALL () {
  WHEN $ontologies IS NULL THEN { MATCH (d:Document) RETURN count(d) AS total }
  ELSE { MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN count(d) AS total }
}
RETURN total

// name: delete
// Delete a document without sources. Its original file may become unused. The write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
MATCH (d:Document {document_id: $document_id})
CALL (d) {
  MATCH (d)-[:ORIGINAL]->(b:Blob)
  SET b.touched_at = datetime.realtime(), b:LooseBlob
}
DETACH DELETE d
RETURN count(*) AS documents

// name: describe
// Set properties of documents and add new ones to their ontology, at the end of the transaction, because this locks
// the ontology. MERGE locks the ontology before it writes. CREATE locks dense nodes in any order, which can cause
// deadlocks. An ontology that was deleted after `lock` is created again. Return the index language of the locked
// ontology. The write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = $space
SET o.held_at = datetime.realtime()
WITH o
UNWIND $documents AS row
MATCH (d:Document {document_id: row.document_id})
SET d += row.properties, d.updated_at = datetime.realtime()
MERGE (d)-[:IN_ONTOLOGY]->(o)
RETURN DISTINCT o.language AS language

// name: facet_of_kind
// Count the documents with passages and with images, among given documents or in ontologies.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.document_id IN $document_ids RETURN d
  }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN d
  }
  ELSE { MATCH (d:Document) RETURN d }
}
WITH d, COUNT { MATCH (s:Image) WHERE s.document_id = d.document_id } AS images
RETURN count(CASE WHEN d.sources > images THEN d END) AS passage, count(CASE WHEN images > 0 THEN d END) AS image

// name: facets
// Count documents by the values of fields, most frequent first, among given documents or in ontologies. Each value of
// a list counts once. Dates are grouped by year, month or day (UTC).
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.document_id IN $document_ids RETURN d
  }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN d
  }
  ELSE { MATCH (d:Document) RETURN d }
}
WITH collect(d) AS documents
UNWIND range(0, size($facets) - 1) AS at
WITH documents, at, $facets[at] AS facet
CALL (documents, facet) {
  UNWIND documents AS d
  UNWIND coalesce([] + d[facet.property], []) AS each
  WITH DISTINCT d, CASE facet.by
    WHEN 'year' THEN each.year
    WHEN 'month' THEN substring(toString(date(each)), 0, 7)
    WHEN 'day' THEN toString(date(each))
    ELSE each
  END AS value
  WITH value, count(*) AS number ORDER BY number DESC, toString(value)
  RETURN collect({value: value, documents: number}) AS counted
}
RETURN at, size(documents) AS documents, size([d IN documents WHERE size([] + d[facet.property]) > 0]) AS having,
       size(counted) AS distinct_values, counted[..$limit] AS counted
ORDER BY at

// name: fields
// Return the metadata keys of documents in some or all ontologies.
CYPHER 25
MATCH (d:Document)
WHERE d.ontology >= '' AND d.document >= '' AND ($ontologies IS NULL OR d.ontology IN $ontologies)
UNWIND keys(d) AS key
WITH DISTINCT key WHERE key STARTS WITH 'meta.'
RETURN substring(key, 5) AS field
ORDER BY field
LIMIT $limit

// name: find
// Return a document with its preface and its sources in reading order. The caller checks that they belong together.
MATCH (d:Document {document_id: $document_id})
WHERE $ontologies IS NULL OR d.ontology IN $ontologies
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri,
       d.format AS format, d.characters AS characters, d.sources AS sources, d.updated_at AS updated_at,
       d.metadata AS metadata, coalesce(d.preface, '') AS preface,
       COLLECT {
         MATCH (s:Source) WHERE s.document_id = d.document_id AND s.paragraph >= 0
         RETURN s.full_text ORDER BY s.paragraph
       } AS parts

// name: hold
// Lock a document before its deletion, as its writers do.
MATCH (d:Document {document_id: $document_id})
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id

// name: hold_about
// Lock a document and return its properties.
MATCH (d:Document {document_id: $document_id})
SET d.touched_at = datetime.realtime()
WITH d
OPTIONAL MATCH (o:Ontology {name: d.ontology})
RETURN d.ontology AS ontology, o.language AS language, d.document AS document, d.title AS title, d.uri AS uri, d.metadata AS metadata,
       d.changes AS changes

// name: hold_versions
// Lock documents and return the ids of their last writes.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
SET d.touched_at = datetime.realtime()
RETURN d.document_id AS document_id, d.written_by AS version

// name: identify
// Return the given documents that exist.
MATCH (d:Document)
WHERE d.document_id IN $document_ids AND d.ontology IS NOT NULL
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document
ORDER BY ontology, document

// name: lock
// Create missing documents and their ontology, and lock the documents by id until the end of the transaction. So
// writers of a document take turns. A new ontology uses the default spaces. An existing ontology is not locked here,
// but in `describe`. Pending versions are deleted, unless they are newer than the approved one.
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
WITH d, space, language, row, w, w IS NOT NULL AS waited, coalesce(d.changes, w.changes) AS changes,
     CASE WHEN row.approves IS NOT NULL THEN w {.folder_id, .file_stamp, .file_hash} END AS of_file
FOREACH (each IN CASE WHEN w IS NULL THEN [] ELSE [w] END | DETACH DELETE each)
RETURN d.document_id AS document_id, d.content_hash AS content_hash, d.uri AS uri, d.sources AS sources,
       d.written_by AS written_by, d.title AS title, d.metadata AS metadata, changes,
       d.sent_as AS sent_as, space, language, waited, of_file

// name: matching
// Return the documents that match a filter, in one row per ontology because rows are slow. They are sorted by name
// only on request, because sorting costs as much as filtering. Each condition needs one alternative, with all its
// parts. A single value is compared as a list of one. For dates ('time ...'), the dates of a document are compared,
// and its texts only if it has no date. Texts without a date do not match. Each condition reads one property if
// possible. In upper case, ß equals ss, and all forms of Greek sigma and of Turkish i are equal.
CYPHER 25
CALL () {
  WHEN $document_ids IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.document_id IN $document_ids RETURN d
  }
  WHEN $ontologies IS NOT NULL THEN {
    MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN d
  }
  ELSE { MATCH (d:Document) RETURN d }
}
WITH d
WHERE all(alternatives IN $conditions WHERE any(conditions IN alternatives WHERE all(c IN conditions WHERE
  CASE c.op
    WHEN 'in' THEN any(v IN [] + d[c.property] WHERE v IN c.values)
    WHEN 'not in' THEN NOT coalesce(any(v IN [] + d[c.property] WHERE v IN c.values), false)
    WHEN '<' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v < c.values[0])
    WHEN '<=' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v <= c.values[0])
    WHEN '>' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v > c.values[0])
    WHEN '>=' THEN d[c.times] IS NULL AND any(v IN [] + d[c.property] WHERE v >= c.values[0])
    WHEN 'exists' THEN size([] + d[c.property]) > 0
    WHEN 'missing' THEN coalesce(size([] + d[c.property]), 0) = 0
    WHEN 'contains' THEN any(v IN [] + d[c.property] WHERE v IN c.values)
      OR (d[c.property] IS :: STRING NOT NULL
          AND any(v IN c.values WHERE replace(toUpper(d[c.property]), 'İ', 'I')
            CONTAINS replace(toUpper(toString(v)), 'İ', 'I')))
    ELSE any(times IN [coalesce([] + d[c.times], [])] WHERE CASE
      WHEN size(times) = 0 THEN CASE c.op
        WHEN 'time in' THEN any(v IN [] + d[c.property] WHERE v IN c.values)
        WHEN 'time not in' THEN NOT coalesce(any(v IN [] + d[c.property] WHERE v IN c.values), false)
        WHEN 'time <' THEN any(v IN [] + d[c.property] WHERE v < c.values[0])
        WHEN 'time <=' THEN any(v IN [] + d[c.property] WHERE v <= c.values[0])
        WHEN 'time >' THEN any(v IN [] + d[c.property] WHERE v > c.values[0])
        WHEN 'time >=' THEN any(v IN [] + d[c.property] WHERE v >= c.values[0])
      END
      WHEN c.op = 'time in' THEN any(t IN times WHERE any(s IN c.spans WHERE t >= s.start AND t < s.until))
      WHEN c.op = 'time not in' THEN none(t IN times WHERE any(s IN c.spans WHERE t >= s.start AND t < s.until))
      WHEN c.op = 'time <' THEN any(t IN times WHERE t < c.spans[0].start)
      WHEN c.op = 'time <=' THEN any(t IN times WHERE t < c.spans[0].until)
      WHEN c.op = 'time >' THEN any(t IN times WHERE t >= c.spans[0].until)
      WHEN c.op = 'time >=' THEN any(t IN times WHERE t >= c.spans[0].start)
    END)
  END)))
WITH collect(d) AS fitting
CALL (fitting) {
  WHEN $in_order THEN {
    UNWIND fitting AS d
    WITH d.document_id AS document_id, d.ontology AS ontology ORDER BY ontology, d.document
    RETURN ontology, collect(document_id) AS document_ids
  }
  ELSE { UNWIND fitting AS d RETURN d.ontology AS ontology, collect(d.document_id) AS document_ids }
}
RETURN ontology, document_ids
ORDER BY ontology

// name: names
// Return a limited number of document names for suggestions.
MATCH (d:Document)
WHERE d.ontology >= '' AND d.document >= '' AND ($ontologies IS NULL OR d.ontology IN $ontologies)
RETURN d.ontology AS ontology, d.document AS document
LIMIT $limit

// name: of_ids
// Return documents in the given order.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri,
       d.format AS format, d.characters AS characters, d.sources AS sources, d.updated_at AS updated_at,
       d.metadata AS metadata

// name: of_same_text
// Return the first other documents of an ontology with the same text as documents of a call. The caller assigns them.
UNWIND $texts AS text
CALL (text) {
  MATCH (d:Document)
  // while statistics lag, as in a first large batch, the planner goes through all documents for each text
  USING INDEX SEEK d:Document(ontology, text_hash, document)
  WHERE d.ontology = $ontology AND d.text_hash = text AND d.document >= '' AND NOT d.document_id IN $ours
  RETURN d.document AS document ORDER BY document LIMIT $limit
}
RETURN text, collect(document) AS documents

// name: of_different_texts
// Return the pairs of documents whose newest texts, stored or pending, differ, by position.
UNWIND range(0, size($pairs) - 1) AS position
CALL (position) {
  UNWIND $pairs[position] AS id
  OPTIONAL MATCH (d:Document {document_id: id})
  OPTIONAL MATCH (w:WaitingDocument {document_id: id})
  WHERE w.awaits IS NOT NULL
  RETURN collect(coalesce(w.text_hash, d.text_hash)) AS texts
}
WITH position, texts
WHERE texts[0] <> texts[1]
RETURN position

// name: order
// Return ids of documents, last change or most sources first.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
WITH d ORDER BY CASE $by WHEN 'sources' THEN d.sources ELSE d.updated_at END DESC, d.document, d.document_id
RETURN collect(d.document_id) AS document_ids

// name: page
// Return a page of documents by ontology and name. The order of the index avoids reads of other documents, except for
// several ontologies before the page.
CYPHER 25
CALL () {
  WHEN $ontologies IS NULL THEN {
    MATCH (d:Document)
    WHERE d.ontology >= '' AND d.document >= ''
    RETURN d ORDER BY d.ontology, d.document SKIP $offset LIMIT $limit
  }
  WHEN size($ontologies) = 1 THEN {
    MATCH (d:Document)
    WHERE d.ontology = $ontologies[0] AND d.document >= ''
    RETURN d ORDER BY d.ontology, d.document SKIP $offset LIMIT $limit
  }
  ELSE {
    MATCH (d:Document)
    WHERE d.ontology IN $ontologies AND d.document >= ''
    RETURN d ORDER BY d.ontology, d.document SKIP $offset LIMIT $limit
  }
}
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri,
       d.format AS format, d.characters AS characters, d.sources AS sources, d.updated_at AS updated_at,
       d.metadata AS metadata
ORDER BY ontology, document

// name: prune_writes
// Delete a batch of write counters and keep their number.
CYPHER 25
MATCH (w:DocumentWrite)
WITH w LIMIT $limit
WITH collect(w) AS gone
MERGE (p:DocumentWritesPruned)
ON CREATE SET p.writes = 0
SET p.writes = p.writes + size(gone)
FOREACH (w IN gone | DELETE w)
RETURN size(gone) AS pruned

// name: searchable
// Return the documents of an ontology whose sources all have a vector or are rejected.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
WHERE d.ontology = $ontology
  AND NOT EXISTS { MATCH (s:Source {document_id: id}) WHERE s.paragraph >= 0 AND s[$property] IS NULL }
RETURN d.document_id AS document_id

// name: source_places
// Return the sources of documents with positions and exact texts.
UNWIND $document_ids AS id
MATCH (s:Source {document_id: id})
WHERE s.paragraph >= 0
RETURN s.document_id AS document_id, s.source_id AS source_id, s.paragraph AS paragraph, s.start AS start,
       s.end AS end, s.heading AS heading, s.full_text AS full_text, s.block_kinds AS block_kinds,
       s.block_starts AS block_starts, s.page AS page,
       s.last_page AS last_page, s.ocr_confidence AS ocr_confidence, s.word_boxes AS word_boxes
ORDER BY source_id

// name: stored
// Return the stored document of a name without a lock.
MATCH (d:Document {document_id: $document_id})
RETURN d.content_hash AS content_hash, d.uri AS uri, d.sources AS sources, d.changes AS changes

// name: versions
// Return the ids of the last writes of documents.
UNWIND $document_ids AS id
MATCH (d:Document {document_id: id})
RETURN d.document_id AS document_id, d.written_by AS version

// name: write_properties
// Set properties of documents. Null deletes a property. The write is counted (documents/writes).
CREATE (:DocumentWrite)
WITH 1 AS counted
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
SET d += row.properties

// name: writes
// Count the transactions that changed documents. Each creates a node, which locks nothing, and Neo4j stores their
// number. The count precedes the number of pruned nodes. A node pruned in between counts twice, so the result never
// repeats an earlier one.
MATCH (w:DocumentWrite)
WITH count(w) AS there
OPTIONAL MATCH (p:DocumentWritesPruned)
WITH there, sum(p.writes) AS pruned
RETURN there + pruned AS writes
