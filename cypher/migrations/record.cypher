// A migration is done.
MERGE (m:Migration {name: $name})
ON CREATE SET m.checksum = $checksum, m.kg_version = $kg_version, m.applied_at = datetime.realtime()
