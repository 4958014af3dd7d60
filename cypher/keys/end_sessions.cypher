// Everybody signs in again.
MATCH (s:PageSession)
DETACH DELETE s
