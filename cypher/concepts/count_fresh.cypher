// How many of some concepts have no vector of what is said of them now and are to get one: more than one source carries
// them, or they had one before. Marks of all spaces end with the hash of the text.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH c, [key IN keys(c) WHERE key = $marks OR key STARTS WITH $marks + '_' | c[key]] AS marks
WHERE none(mark IN marks WHERE mark ENDS WITH ':' + c.text_hash)
  AND ($wants_all OR size(marks) > 0 OR COUNT { (c)-[:APPEARS_IN]->() } > 1)
RETURN count(c) AS fresh
