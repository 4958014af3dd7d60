// name: applied
// Return the applied migrations in order.
MATCH (m:Migration)
RETURN m.name AS name, m.checksum AS checksum, m.kg_version AS kg_version
ORDER BY name

// name: constraint
// Prevent duplicate records of a migration.
CREATE CONSTRAINT migration_name IF NOT EXISTS FOR (m:Migration) REQUIRE m.name IS UNIQUE

// name: record
MERGE (m:Migration {name: $name})
ON CREATE SET m.checksum = $checksum, m.kg_version = $kg_version, m.applied_at = datetime.realtime()
