// Whoever makes keys waits for others who do: no two that can be used get one name.
MERGE (r:KeyRing {ring: 'all'})
SET r.held_at = datetime.realtime()
