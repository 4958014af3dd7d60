// name: advance_language
// Indexing an ontology's sources in its language came so far, unless another was chosen meanwhile; null: to the end.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
WITH o WHERE coalesce(o.language, 'auto') = coalesce($language, 'auto')
SET o.index_after = $after, o.index_after_paragraph = $after_paragraph
RETURN o.name AS ontology

// name: configuration
// How each ontology is embedded; null: by default.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.space AS space, o.slot AS slot, o.chunking AS chunking, o.serving AS serving,
       o.previous AS previous, o.activates AS activates, o.embed_on_ingest AS embed_on_ingest, o.paused AS paused,
       o.image_space AS image_space, o.image_serving AS image_serving, o.image_previous AS image_previous,
       o.image_activates AS image_activates, o.leftovers AS leftovers, o.concepts_wanted_at IS NOT NULL AS wants_concepts
ORDER BY ontology

// name: configure
// How an ontology is embedded from now on; it may be configured before its first document comes. What is flagged was
// so for another way to embed its texts, unless only its pictures' space is another.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.created_at = datetime.realtime()
WITH o, [coalesce(o.space, $usual.space), coalesce(o.slot, $usual.slot), coalesce(o.chunking, $usual.chunking),
         coalesce(o.serving, '')] AS before
WITH o, CASE WHEN before = [$space, $slot, $chunking, coalesce($serving, '')] THEN o.flagged_for END AS flagged_for
SET o.space = $space, o.slot = $slot, o.chunking = $chunking, o.serving = $serving, o.previous = $previous,
    o.activates = $activates, o += $images, o.embed_on_ingest = $embed_on_ingest, o.changed_at = datetime.realtime(),
    o.flagged_for = flagged_for

// name: count
// How many ontologies there are. Neo4j keeps that count.
MATCH (o:Ontology)
RETURN count(o) AS ontologies

// name: delete_empty
// An ontology goes when its last document has gone, with its vocabulary of relationships, its communities, what was
// merged, proposed and judged in it. It is locked first: a document may just be coming in.
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
// One portion of an ontology's documents.
MATCH (d:Document {ontology: $name})
WHERE d.document >= ''
RETURN d.document_id AS document_id
ORDER BY document_id
LIMIT $limit

// name: flagged
// Whether all sources of an ontology that have not this mark are flagged.
MATCH (o:Ontology {name: $ontology})
RETURN coalesce(o[$note] = $mark_property + ':' + $mark, false) AS flagged

// name: forget
// These sets of vectors of an ontology are to be removed.
MATCH (o:Ontology {name: $name})
SET o.leftovers = coalesce(o.leftovers, []) + [key IN $keys WHERE NOT key IN coalesce(o.leftovers, [])]

// name: forgotten
// Sets of vectors that were to be removed have gone; others may have been noted meanwhile.
MATCH (o:Ontology {name: $name})
WITH o, [key IN coalesce(o.leftovers, []) WHERE NOT key IN $keys] AS left
SET o.leftovers = CASE WHEN left = [] THEN null ELSE left END

// name: hold
// Locks ontologies, in the order of their names, so that their configurations change one after the other.
UNWIND $names AS name
MATCH (o:Ontology {name: name})
SET o.changed_at = datetime.realtime()

// name: hold_language
// The language in which an ontology's sources are indexed, held until the end of the transaction.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
RETURN o.language AS language

// name: language
// In which language an ontology's sources are indexed, and how far that is: `after` is null when all is done.
MATCH (o:Ontology {name: $name})
RETURN o.language AS language, o.index_after AS after, o.index_after_paragraph AS after_paragraph

// name: leftovers
// Sets of vectors of ontologies that are to be removed.
MATCH (o:Ontology)
WHERE o.leftovers IS NOT NULL
RETURN o.name AS ontology, o.leftovers AS keys
ORDER BY ontology

// name: list
// Some ontologies with their counts; each is counted by the mark that its sources should have, and by the one that
// those have which answer searches. Where all are flagged that have not the mark, the others are those that documents
// tell of; else every source is read. All keys of an index are named, for it is not used by its first one alone.
CYPHER 25
UNWIND $plans AS plan
MATCH (o:Ontology {name: plan.ontology})
CALL (o) {
  MATCH (d:Document)
  WHERE d.ontology = o.name AND d.document >= ''
  RETURN count(d) AS documents, sum(d.sources) AS stored
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
RETURN o.name AS ontology, plan.space AS space, documents, sources, images, embedded, stale, refused, searchable,
       plan.building AS building
ORDER BY ontology

// name: names
// The names of all ontologies, to find a document by its name or to say which name is nearest to a wrong one.
MATCH (o:Ontology)
RETURN o.name AS ontology
ORDER BY ontology

// name: note_flagged
// From now on all sources of an ontology that have not this mark are flagged: new ones are when they come, others
// when they lose it. Without a mark: that is not known.
CYPHER 25
MATCH (o:Ontology {name: $ontology})
SET o[$note] = $mark_property + ':' + $mark

// name: sample
// How many documents an ontology has, and some of them, to estimate what embedding it will take.
RETURN COUNT { MATCH (d:Document) WHERE d.ontology = $ontology AND d.document >= '' } AS documents,
       COLLECT {
         MATCH (d:Document) WHERE d.ontology = $ontology AND d.document >= '' RETURN d.document_id LIMIT $limit
       } AS sample

// name: set_language
// The language in which an ontology's sources are indexed, null where each tells its own, and where indexing them so
// begins; where it is that already, nothing changes. Gives how far indexing is: `after` is null when all is done.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
WITH o, coalesce(o.language, 'auto') = coalesce($language, 'auto') AS same
SET o.index_after = CASE WHEN same THEN o.index_after ELSE '' END,
    o.index_after_paragraph = CASE WHEN same THEN o.index_after_paragraph ELSE -1 END,
    o.language = $language
RETURN o.index_after AS after, o.index_after_paragraph AS after_paragraph

// name: set_synonyms
// Words that searches of an ontology take for each other, each group one text.
MATCH (o:Ontology {name: $name})
SET o.synonyms = $synonyms, o.changed_at = datetime.realtime()
RETURN o.name AS ontology

// name: synonyms
// Words that searches take for each other, and the language of the sources, of ontologies that have either, or of one by
// its name.
MATCH (o:Ontology)
WHERE o.name = $name OR ($name IS NULL AND (o.synonyms IS NOT NULL OR o.language IS NOT NULL))
RETURN o.name AS ontology, coalesce(o.synonyms, []) AS synonyms, o.language AS language
ORDER BY ontology
