// name: concepts_apart
// Return unconnected pairs of concepts: without a link, a common document, or a path of up to `hops` relationships
// or links. Concepts with too many sources do not connect others. Both concepts need a quote.
UNWIND $pairs AS pair
MATCH (a:Concept {concept_id: pair[0]})
MATCH (b:Concept {concept_id: pair[1]})
WHERE NOT EXISTS { (a)-[:RELATED_TO|LINKED_TO]-(b) }
  AND ($hops < 2 OR NOT EXISTS {
    MATCH (a)-[:RELATED_TO|LINKED_TO]-(m:Concept)-[:RELATED_TO|LINKED_TO]-(b)
    WHERE COUNT { (m)-[:APPEARS_IN]->() } <= $most_sources
  })
  AND ($hops < 3 OR NOT EXISTS {
    MATCH (a)-[:RELATED_TO|LINKED_TO]-(m:Concept)-[:RELATED_TO|LINKED_TO]-(n:Concept)-[:RELATED_TO|LINKED_TO]-(b)
    WHERE COUNT { (m)-[:APPEARS_IN]->() } <= $most_sources AND COUNT { (n)-[:APPEARS_IN]->() } <= $most_sources
  })
  AND EXISTS { (a)-[:EVIDENCED_BY]->() } AND EXISTS { (b)-[:EVIDENCED_BY]->() }
CALL (a) {
  MATCH (a)-[:APPEARS_IN]->(s:Source)
  RETURN collect(DISTINCT s.document_id) AS of_a
}
CALL (b) {
  MATCH (b)-[:APPEARS_IN]->(s:Source)
  RETURN collect(DISTINCT s.document_id) AS of_b
}
WITH pair, of_a, of_b
WHERE none(each IN of_a WHERE each IN of_b)
RETURN pair[0] AS first, pair[1] AS second

// name: count
// Count proposals by state, in some or all ontologies.
MATCH (p:Proposal)
WHERE ($ontologies IS NULL OR p.ontology IN $ontologies) AND ($kind IS NULL OR p.kind = $kind)
  AND EXISTS { (p)-[:PROPOSES]->() }
RETURN p.state AS state, count(p) AS proposals

// name: count_due
// Count the pending nodes of an ontology.
MATCH (n:Unlinked)
WHERE n.ontology = $ontology
RETURN count(n) AS due

// name: decide
// Set the state of a proposal, and create or delete its link. The caller has locked the proposal, and all changes of
// its link need this lock. The decision's id shows a repeated request that it was stored.
MATCH (p:Proposal {proposal_id: $proposal_id})
MATCH (p)-[:PROPOSES {place: 0}]->(a)
MATCH (p)-[:PROPOSES {place: 1}]->(b)
OPTIONAL MATCH (a)-[old:LINKED_TO {proposal_id: $proposal_id}]-(b)
SET p.state = $state, p.decided_by = $by, p.decision = $decision, p.decided_at = CASE WHEN $state = 'open' THEN null ELSE datetime.realtime() END
FOREACH (_ IN CASE WHEN old IS NOT NULL AND $state <> 'accepted' THEN [1] ELSE [] END | DELETE old)
FOREACH (_ IN CASE WHEN old IS NULL AND $state = 'accepted' THEN [1] ELSE [] END |
  CREATE (a)-[:LINKED_TO {proposal_id: $proposal_id, type: $type, confidence: p.similarity, by: $by, at: datetime.realtime()}]->(b))
RETURN p.state AS state

// name: delete_open
// Delete proposals that are still open. The caller has locked them.
UNWIND $proposal_ids AS id
MATCH (p:Proposal {proposal_id: id})
WHERE p.state = 'open'
DETACH DELETE p

// name: due
// Return pending sources or concepts with the time of their vectors. If the time changes during the search, they stay
// pending.
CYPHER 25
MATCH (n:Unlinked)
WHERE n.ontology = $ontology AND n:Source = ($kind = 'source')
RETURN coalesce(n.source_id, n.concept_id) AS id, coalesce(n.content_hash, n.text_hash) AS text_hash,
       toString(n[$time_property]) AS at
LIMIT $limit

// name: flag
// Flag the next embedded sources or concepts of an ontology. They are locked in the common order.
CYPHER 25
CALL () {
  WHEN $kind = 'source' THEN {
    MATCH (n:Source)
    USING INDEX SEEK n:Source(ontology, document_id, paragraph)
    WHERE n.ontology = $ontology AND n.document_id >= $after AND n.paragraph >= 0
    WITH n ORDER BY n.ontology, n.document_id, n.paragraph
    WHERE n.document_id > $after OR n.paragraph > $after_paragraph
    RETURN n, n.source_id AS id
  }
  ELSE {
    MATCH (n:Concept)
    USING INDEX SEEK n:Concept(ontology, concept_id)
    WHERE n.ontology = $ontology AND n.concept_id > $after
    RETURN n, n.concept_id AS id ORDER BY n.ontology, n.concept_id
  }
}
WITH n, id
WHERE n[$time_property] IS NOT NULL AND NOT n:Unlinked
WITH n, id LIMIT $limit
WITH collect({n: n, id: id}) AS portion
UNWIND portion AS each
WITH portion[-1].n AS last, each.n AS n, each.id AS id ORDER BY id
SET n:Unlinked
RETURN DISTINCT coalesce(last.document_id, last.concept_id) AS after, coalesce(last.paragraph, 0) AS after_paragraph

// name: flag_again
// Request the flagging of a whole ontology.
MATCH (o:Ontology {name: $name})
SET o.proposed_for = null

// name: flagged
// Record that an ontology is flagged with a fingerprint.
MATCH (o:Ontology {name: $name})
SET o.proposed_for = $mark

// name: hold
// Lock a proposal and return its state and the number of its ends, which may be 0.
MATCH (p:Proposal {proposal_id: $proposal_id})
WHERE $ontologies IS NULL OR p.ontology IN $ontologies
SET p.held_at = datetime.realtime()
RETURN p.state AS state, p.decided_by AS by, p.decision AS decision, p.kind AS kind, COUNT { (p)-[:PROPOSES]->() } AS ends

// name: hold_of
// Lock open proposals of the searched nodes that were not found again.
UNWIND $ids AS id
OPTIONAL MATCH (s:Source {source_id: id})
OPTIONAL MATCH (c:Concept {concept_id: id})
WITH coalesce(s, c) AS n
WHERE n IS NOT NULL
MATCH (n)<-[:PROPOSES]-(p:Proposal {state: 'open'})
WHERE NOT p.proposal_id IN $hold
WITH DISTINCT p ORDER BY p.proposal_id
SET p.held_at = datetime.realtime()
RETURN p.proposal_id AS proposal_id

// name: hold_weakest
// Lock the open proposals of an ontology after the best ones. A user may have decided on one since, so the caller
// checks the state.
MATCH (p:Proposal)
WHERE p.ontology = $ontology AND p.state = 'open' AND p.score IS NOT NULL
WITH p ORDER BY p.score DESC, p.proposal_id SKIP $most
WITH p ORDER BY p.proposal_id
SET p.held_at = datetime.realtime()
RETURN p.proposal_id AS proposal_id

// name: linked_to
// Return sources with an accepted link to a source, most similar first.
MATCH (:Source {source_id: $source_id})-[l:LINKED_TO]-(s:Source)
WHERE ($ontologies IS NULL OR s.ontology IN $ontologies) AND ($document_ids IS NULL OR s.document_id IN $document_ids)
  AND ($image IS NULL OR s:Image = $image) AND fits(s)
WITH s, max(l.confidence) AS similarity
RETURN s.source_id AS source_id, similarity
ORDER BY similarity DESC, source_id LIMIT $limit

// name: links_among
// Return accepted links among sources.
UNWIND $source_ids AS id
MATCH (a:Source {source_id: id})-[l:LINKED_TO]->(b:Source)
WHERE b.source_id IN $source_ids
RETURN a.source_id AS a, b.source_id AS b, l.proposal_id AS proposal_id, l.confidence AS similarity
ORDER BY similarity DESC, a, b

// name: links_of_concept
// Lock the proposals of a concept and return accepted ones with their other concepts.
MATCH (c:Concept {concept_id: $concept_id})<-[:PROPOSES]-(p:Proposal)
WITH DISTINCT c, p ORDER BY p.proposal_id
SET p.held_at = datetime.realtime()
WITH c, p
WHERE p.state = 'accepted'
MATCH (p)-[:PROPOSES]->(other:Concept)
WHERE other <> c
RETURN p.proposal_id AS proposal_id, other.concept_id AS other

// name: move
// Move proposals and links to another concept, with the ids of the new pairs. For a proposal without ends, only the
// id changes. If the pair is already linked or decided, nothing changes. Return the moved proposals.
UNWIND $rows AS row
MATCH (p:Proposal {proposal_id: row.proposal_id})
MATCH (from:Concept {concept_id: $from})
MATCH (to:Concept {concept_id: $to})
OPTIONAL MATCH (p)-[end:PROPOSES]->(from)
OPTIONAL MATCH (p)-[:PROPOSES]->(other:Concept {concept_id: row.other})
OPTIONAL MATCH (from)-[own:LINKED_TO {proposal_id: row.proposal_id}]-(other)
OPTIONAL MATCH (there:Proposal {proposal_id: row.becomes})
SET there.held_at = datetime.realtime()
WITH row, p, end, to, other, own, there
WHERE coalesce(other <> to AND NOT EXISTS { (to)-[:LINKED_TO]-(other) }, true) AND coalesce(there.state, 'open') = 'open'
FOREACH (old IN CASE WHEN there IS NULL THEN [] ELSE [there] END | DETACH DELETE old)
SET p.proposal_id = row.becomes
FOREACH (old IN CASE WHEN end IS NULL THEN [] ELSE [end] END |
  CREATE (p)-[:PROPOSES {place: old.place}]->(to)
  DELETE old)
FOREACH (old IN CASE WHEN own IS NULL THEN [] ELSE [own] END |
  CREATE (to)-[link:LINKED_TO]->(other)
  SET link = properties(old), link.proposal_id = row.becomes
  DELETE old)
RETURN row.proposal_id AS proposal_id, row.becomes AS becomes, row.other AS other

// name: near_sources
// Return the nearest passages of other documents for sources, by the vector of a source or of each of its first
// chunks. Images have none. One lookup without a condition on documents finds enough of them, unless most are of the
// source's own document. Then two lookups, before and after that document, cost three times as much.
CYPHER 25
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WHERE NOT s:Image
WITH s, CASE WHEN s[$property] IS NOT NULL THEN [{vector: s[$property]}] ELSE COLLECT {
  MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = $space AND c[$property] IS NOT NULL
  WITH c, COLLECT { MATCH (c)-[:CHUNK_OF]->(part:Source) RETURN part.paragraph ORDER BY part.paragraph } AS places
  ORDER BY places[0], c.offset, c.chunk_id LIMIT $parts
  RETURN {chunk_id: c.chunk_id, vector: c[$property]}
} END AS parts
UNWIND parts AS part
CALL (s, part) {
  MATCH (n:Source|Chunk)
  SEARCH n IN (VECTOR INDEX passage_embedding FOR part.vector WHERE n.ontology = $ontology LIMIT $depth) SCORE AS score
  WITH n, score WHERE n.document_id <> s.document_id
  WITH n ORDER BY score DESC LIMIT $limit
  RETURN collect(n) AS near
}
CALL (s, part, near) {
  WHEN size(near) = $limit THEN { UNWIND near AS n RETURN n }
  ELSE {
    MATCH (n:Source|Chunk)
    SEARCH n IN (VECTOR INDEX passage_embedding FOR part.vector
      WHERE n.ontology = $ontology AND n.document_id < s.document_id LIMIT $limit) SCORE AS score
    RETURN n
    UNION ALL
    MATCH (n:Source|Chunk)
    SEARCH n IN (VECTOR INDEX passage_embedding FOR part.vector
      WHERE n.ontology = $ontology AND n.document_id > s.document_id LIMIT $limit) SCORE AS score
    RETURN n
  }
}
WITH s, part, n, 2 * vector.similarity.cosine(n[$property], part.vector) - 1 AS similarity
ORDER BY similarity DESC
WITH s, part, n, similarity, CASE WHEN n:Source THEN n.source_id ELSE COLLECT {
  MATCH (n)-[:CHUNK_OF]->(covered:Source) RETURN covered.source_id ORDER BY covered.paragraph LIMIT 1
}[0] END AS source_id
WHERE source_id IS NOT NULL
RETURN s.source_id AS id, part.chunk_id AS chunk_id, collect([source_id, similarity, n.chunk_id])[..$limit] AS near

// name: page
// Return proposals with both ends, best first. A source has the passage near to the other source, and a concept has
// the best of a limited number of quotes.
MATCH (p:Proposal)
WHERE ($ids IS NULL OR p.proposal_id IN $ids) AND ($ontologies IS NULL OR p.ontology IN $ontologies)
  AND ($kind IS NULL OR p.kind = $kind) AND ($state IS NULL OR p.state = $state) AND EXISTS { (p)-[:PROPOSES]->() }
WITH p ORDER BY p.score DESC, p.proposal_id SKIP $offset LIMIT $limit
RETURN p {.proposal_id, .ontology, .kind, .state, .score, .similarity, .reason, .created_at, .decided_at, .decided_by} AS proposal,
       COLLECT {
         MATCH (p)-[end:PROPOSES]->(n)
         OPTIONAL CALL (n) {
           MATCH (n)-[:EVIDENCED_BY]->(i:Instance)
           WITH i LIMIT $quotes
           MATCH (i)-[:FROM_SOURCE]->(of:Source)
           RETURN i, of ORDER BY i.score DESC, of.document, of.paragraph, i.start, i.instance_id LIMIT 1
         }
         WITH end, n, i, CASE WHEN n:Source THEN n ELSE of END AS s
         ORDER BY end.place
         RETURN {concept_id: n.concept_id, label: n.label, quote_start: coalesce(end.start, i.start),
                 quote_end: coalesce(end.end, i.end), source_id: s.source_id, ontology: s.ontology, document: s.document,
                 document_id: s.document_id, paragraph: s.paragraph, heading: s.heading, start: s.start, end: s.end,
                 page: s.page, last_page: s.last_page, ocr: s.ocr_confidence IS NOT NULL,
                 ocr_confidence: s.ocr_confidence, full_text: s.full_text}
       } AS ends
ORDER BY proposal.score DESC, proposal.proposal_id

// name: searched
// Record the end of a complete search.
MATCH (o:Ontology {name: $name})
SET o.proposed_at = datetime.realtime()

// name: seen
// Unflag searched nodes, except nodes that were re-embedded since. The caller has locked them.
CYPHER 25
UNWIND $rows AS row
CALL (row) {
  WHEN $kind = 'source' THEN { MATCH (n:Source {source_id: row.id}) SET n.held_at = null RETURN n }
  ELSE { MATCH (n:Concept {concept_id: row.id}) RETURN n }
}
WITH n, row
WHERE coalesce(toString(n[$time_property]), '') = coalesce(row.at, '')
REMOVE n:Unlinked
RETURN count(n) AS seen

// name: sources_apart
// Return unconnected pairs of sources: without a link, a common concept, or concepts connected by up to `hops`
// steps. Concepts with too many sources do not connect others.
UNWIND $pairs AS pair
MATCH (a:Source {source_id: pair[0]})
MATCH (b:Source {source_id: pair[1]})
WHERE NOT EXISTS { (a)-[:LINKED_TO]-(b) }
  AND NOT EXISTS {
    MATCH (a)<-[:APPEARS_IN]-(c:Concept)-[:APPEARS_IN]->(b)
    WHERE COUNT { (c)-[:APPEARS_IN]->() } <= $most_sources
  }
  AND ($hops < 2 OR NOT EXISTS {
    MATCH (a)<-[:APPEARS_IN]-(c:Concept)-[:RELATED_TO|LINKED_TO]-(d:Concept)-[:APPEARS_IN]->(b)
    WHERE COUNT { (c)-[:APPEARS_IN]->() } <= $most_sources AND COUNT { (d)-[:APPEARS_IN]->() } <= $most_sources
  })
  AND ($hops < 3 OR NOT EXISTS {
    MATCH (a)<-[:APPEARS_IN]-(c:Concept)-[:RELATED_TO|LINKED_TO]-(m:Concept)-[:RELATED_TO|LINKED_TO]-(d:Concept)-[:APPEARS_IN]->(b)
    WHERE COUNT { (c)-[:APPEARS_IN]->() } <= $most_sources AND COUNT { (m)-[:APPEARS_IN]->() } <= $most_sources
      AND COUNT { (d)-[:APPEARS_IN]->() } <= $most_sources
  })
RETURN pair[0] AS first, pair[1] AS second

// name: state
// Return the fingerprint of the last flagging and the end of the last search in ontologies.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.proposed_for AS proposed_for, o.proposed_at AS searched_at
ORDER BY ontology

// name: write
// Write proposals. A decided proposal is unchanged, but missing ends are restored, with the link if it was accepted.
// The caller has locked both ends.
UNWIND $rows AS row
OPTIONAL MATCH (sa:Source {source_id: row.first})
OPTIONAL MATCH (ca:Concept {concept_id: row.first})
OPTIONAL MATCH (sb:Source {source_id: row.second})
OPTIONAL MATCH (cb:Concept {concept_id: row.second})
WITH row, coalesce(sa, ca) AS a, coalesce(sb, cb) AS b
WHERE a IS NOT NULL AND b IS NOT NULL
MERGE (p:Proposal {proposal_id: row.proposal_id})
ON CREATE SET p.ontology = $ontology, p.kind = row.kind, p.state = 'open', p.created_at = datetime.realtime()
SET p.looked_at = datetime.realtime()
WITH row, a, b, p, COUNT { (p)-[:PROPOSES]->() } < 2 AS loose
FOREACH (_ IN CASE WHEN p.state = 'open' OR loose THEN [1] ELSE [] END |
  SET p.score = row.score, p.similarity = row.similarity, p.reason = row.reason)
FOREACH (_ IN CASE WHEN loose THEN [1] ELSE [] END |
  MERGE (p)-[first:PROPOSES {place: 0}]->(a)
  MERGE (p)-[second:PROPOSES {place: 1}]->(b)
  SET first.start = row.first_start, first.end = row.first_end, second.start = row.second_start,
      second.end = row.second_end)
FOREACH (_ IN CASE WHEN loose AND p.state = 'accepted' THEN [1] ELSE [] END |
  MERGE (a)-[link:LINKED_TO {proposal_id: row.proposal_id}]->(b)
  SET link.type = $type, link.confidence = row.similarity, link.by = p.decided_by, link.at = p.decided_at)
RETURN count(p) AS written
