// Types that nothing is stated with go, but for those that somebody has said something of: merged, or given a stance.
MATCH (t:RelationType)
WHERE t.stance IS NULL AND NOT (t)-[:MERGED_INTO]-()
  AND NOT EXISTS { MATCH ()-[r:RELATED_TO]->() WHERE r.type_id = t.type_id }
WITH t LIMIT $limit
WITH t ORDER BY t.type_id
SET t.held_at = datetime.realtime()
WITH t
WHERE t.stance IS NULL AND NOT (t)-[:MERGED_INTO]-()
  AND NOT EXISTS { MATCH ()-[r:RELATED_TO]->() WHERE r.type_id = t.type_id }
DELETE t
RETURN count(t) AS deleted
