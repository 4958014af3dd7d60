// What was quoted for a concept and proves nothing, in reading order, and how much of that there is.
MATCH (c:Concept {concept_id: $concept_id})-[a:APPEARS_IN]->(s:Source)
WHERE a.unverified IS NOT NULL
UNWIND a.unverified AS quote
WITH quote, s ORDER BY s.document, s.document_id, s.paragraph, quote
WITH collect({quote: quote, s: s}) AS every
UNWIND every[..$limit] AS each
WITH each.quote AS quote, each.s AS s, size(every) AS total
RETURN quote, total, s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph
