// Holds that ended by themselves: whoever made them has died.
MATCH (h:BlobHold)
WHERE h.until < datetime.realtime()
WITH h LIMIT 1000
DETACH DELETE h
RETURN count(*) AS forgotten
