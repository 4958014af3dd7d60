// Somebody signs out.
MATCH (s:PageSession {session_hash: $session_hash})
DETACH DELETE s
