// Blobs that have gone, and their files with them.
MATCH (d:DeadBlob)
WHERE d.key + coalesce(d.generation, '') IN $dead
DELETE d
RETURN count(d) AS deleted
