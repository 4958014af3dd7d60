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
