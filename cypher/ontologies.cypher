// name: advance_language
// Record the progress of indexing in the ontology's language, unless the language changed. Null means complete.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
WITH o WHERE coalesce(o.language, 'auto') = coalesce($language, 'auto')
SET o.index_after = $after, o.index_after_paragraph = $after_paragraph
RETURN o.name AS ontology

// name: configuration
// Return the configuration of embedding in ontologies. Null means the default.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.space AS space, o.slot AS slot, o.chunking AS chunking, o.serving AS serving,
       o.previous AS previous, o.activates AS activates, o.embed_on_ingest AS embed_on_ingest, o.paused AS paused,
       o.image_space AS image_space, o.image_serving AS image_serving, o.image_previous AS image_previous,
       o.image_activates AS image_activates, o.leftovers AS leftovers, o.concepts_wanted_at IS NOT NULL AS wants_concepts
ORDER BY ontology

// name: configure
// Set the configuration of embedding. The ontology may have no document yet. A change in text embedding resets the
// flags, and a change of the image space does not.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.created_at = datetime.realtime()
WITH o, [coalesce(o.space, $usual.space), coalesce(o.slot, $usual.slot), coalesce(o.chunking, $usual.chunking),
         coalesce(o.serving, '')] AS before
WITH o, CASE WHEN before = [$space, $slot, $chunking, coalesce($serving, '')] THEN o.flagged_for END AS flagged_for
SET o.space = $space, o.slot = $slot, o.chunking = $chunking, o.serving = $serving, o.previous = $previous,
    o.activates = $activates, o += $images, o.embed_on_ingest = $embed_on_ingest, o.changed_at = datetime.realtime(),
    o.flagged_for = flagged_for

// name: count
// Count the ontologies from Neo4j's count store.
MATCH (o:Ontology)
RETURN count(o) AS ontologies

// name: delete_empty
// Delete an ontology without documents, with its relationship types, merges, proposals, communities and judgements.
// It is locked first, because a document may be in the process of being added.
MATCH (o:Ontology {name: $name})
SET o.changed_at = datetime.realtime()
WITH o
WHERE NOT EXISTS { (:Document)-[:IN_ONTOLOGY]->(o) }
CALL (o) {
  MATCH (t:RelationType)
  WHERE t.ontology = o.name AND t.type_id > ''
  DETACH DELETE t
}
CALL (o) {
  MATCH (m:TypeMerge)
  WHERE m.ontology = o.name
  DELETE m
}
CALL (o) {
  MATCH (p:Proposal)
  WHERE p.ontology = o.name
  DETACH DELETE p
}
CALL (o) {
  MATCH (c:Community)
  WHERE c.ontology = o.name AND c.generation >= ''
  DETACH DELETE c
}
CALL (o) {
  MATCH (m:ConceptMerge)
  WHERE m.ontology = o.name AND m.pair >= ''
  DETACH DELETE m
}
CALL (o) {
  MATCH (j:Judgement)
  WHERE j.ontology = o.name AND j.question_id >= ''
  DELETE j
}
DETACH DELETE o

// name: document_ids
// Return a batch of an ontology's documents.
MATCH (d:Document {ontology: $name})
WHERE d.document >= ''
RETURN d.document_id AS document_id
ORDER BY document_id
LIMIT $limit

// name: flagged
// Check whether all sources of an ontology with another mark are flagged.
MATCH (o:Ontology {name: $ontology})
RETURN coalesce(o[$note] = $mark_property + ':' + $mark, false) AS flagged

// name: forget
// Record sets of vectors to delete from an ontology.
MATCH (o:Ontology {name: $name})
SET o.leftovers = coalesce(o.leftovers, []) + [key IN $keys WHERE NOT key IN coalesce(o.leftovers, [])]

// name: forgotten
// Remove deleted sets of vectors from the record. Sets added since then stay.
MATCH (o:Ontology {name: $name})
WITH o, [key IN coalesce(o.leftovers, []) WHERE NOT key IN $keys] AS left
SET o.leftovers = CASE WHEN left = [] THEN null ELSE left END

// name: hold
// Lock ontologies by name, so that changes of their configurations take turns.
UNWIND $names AS name
MATCH (o:Ontology {name: name})
SET o.changed_at = datetime.realtime()

// name: hold_language
// Lock an ontology and return the index language of its sources.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
RETURN o.language AS language

// name: language
// Return the index language of an ontology's sources and the progress of indexing. `after` is null if complete.
MATCH (o:Ontology {name: $name})
RETURN o.language AS language, o.index_after AS after, o.index_after_paragraph AS after_paragraph

// name: leftovers
// Return the sets of vectors to delete.
MATCH (o:Ontology)
WHERE o.leftovers IS NOT NULL
RETURN o.name AS ontology, o.leftovers AS keys
ORDER BY ontology

// name: list
// Return ontologies with counts by the configured and the answering mark. If all sources with another mark are
// flagged, the other counts come from documents. Otherwise, every source is read. All keys of an index are named,
// because Neo4j does not use it with the first key only.
CYPHER 25
UNWIND $plans AS plan
MATCH (o:Ontology {name: plan.ontology})
CALL (o) {
  MATCH (d:Document)
  WHERE d.ontology = o.name AND d.document >= ''
  WITH coalesce(d.language, 'unknown') AS language, count(d) AS documents, sum(d.sources) AS sources
  RETURN sum(documents) AS documents, sum(sources) AS stored, collect([language, documents]) AS languages
}
CALL (o, plan, stored) {
  WHEN NOT plan.building AND coalesce(o.flagged_for = plan.mark_property + ':' + plan.mark, false) THEN {
    OPTIONAL MATCH (s:Source)
    USING INDEX SEEK s:Source(ontology, unembedded, document_id, paragraph)
    WHERE s.ontology = o.name AND s.unembedded = true AND s.document_id >= '' AND s.paragraph >= 0
    WITH stored, s, coalesce(s[plan.mark_property], '') AS mark, s[plan.answering_property] AS answering
    WITH stored, count(CASE WHEN s IS NOT NULL AND mark <> plan.mark THEN 1 END) AS others,
         count(CASE WHEN mark = plan.refused THEN 1 END) AS refused,
         count(CASE WHEN mark <> plan.mark AND mark <> plan.refused AND mark <> '' THEN 1 END) AS stale,
         count(CASE WHEN s IS NOT NULL AND coalesce(answering, 'refused:') STARTS WITH 'refused:' THEN 1 END) AS lost
    RETURN stored AS sources, stored - others AS embedded, refused, stale, stored - lost AS searchable
  }
  ELSE {
    MATCH (s:Source)
    WHERE s.ontology = o.name AND s.document_id >= '' AND s.paragraph >= 0
    WITH s[plan.mark_property] AS mark, s[plan.answering_property] AS answering
    RETURN count(*) AS sources, count(CASE WHEN mark = plan.mark THEN 1 END) AS embedded,
           count(CASE WHEN mark = plan.refused THEN 1 END) AS refused,
           count(CASE WHEN coalesce(mark, answering) IS NOT NULL AND coalesce(mark, '') <> plan.mark
                       AND coalesce(mark, '') <> plan.refused THEN 1 END) AS stale,
           count(CASE WHEN NOT answering STARTS WITH 'refused:' THEN 1 END) AS searchable
  }
}
CALL (o) {
  MATCH (s:Image)
  WHERE s.ontology = o.name
  RETURN count(s) AS images
}
RETURN o.name AS ontology, plan.space AS space, documents, languages, sources, images, embedded, stale, refused, searchable,
       plan.building AS building, o.created_at AS created_at
ORDER BY ontology

// name: names
// Return the names of all ontologies, for documents by name and for suggestions.
MATCH (o:Ontology)
RETURN o.name AS ontology
ORDER BY ontology

// name: note_flagged
// Record that all sources of an ontology with another mark are flagged. Later changes keep this true. Without a mark,
// the record is deleted.
CYPHER 25
MATCH (o:Ontology {name: $ontology})
SET o[$note] = $mark_property + ':' + $mark

// name: sample
// Return the number of documents in an ontology and some of them, to estimate the cost of embedding.
RETURN COUNT { MATCH (d:Document) WHERE d.ontology = $ontology AND d.document >= '' } AS documents,
       COLLECT {
         MATCH (d:Document) WHERE d.ontology = $ontology AND d.document >= '' RETURN d.document_id LIMIT $limit
       } AS sample

// name: set_language
// Set the index language of an ontology's sources, and restart indexing if it changed. Null means the language of
// each source. Return the progress: `after` is null if complete.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
WITH o, coalesce(o.language, 'auto') = coalesce($language, 'auto') AS same
SET o.index_after = CASE WHEN same THEN o.index_after ELSE '' END,
    o.index_after_paragraph = CASE WHEN same THEN o.index_after_paragraph ELSE -1 END,
    o.language = $language
RETURN o.index_after AS after, o.index_after_paragraph AS after_paragraph

// name: set_synonyms
// Set the synonyms of an ontology. Each group is one text.
MATCH (o:Ontology {name: $name})
SET o.synonyms = $synonyms, o.changed_at = datetime.realtime()
RETURN o.name AS ontology

// name: synonyms
// Return synonyms and languages of ontologies that have either, or of one ontology.
MATCH (o:Ontology)
WHERE o.name = $name OR ($name IS NULL AND (o.synonyms IS NOT NULL OR o.language IS NOT NULL))
RETURN o.name AS ontology, coalesce(o.synonyms, []) AS synonyms, o.language AS language
ORDER BY ontology
