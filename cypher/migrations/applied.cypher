// The migrations that this database has, in order.
MATCH (m:Migration)
RETURN m.name AS name, m.checksum AS checksum, m.kg_version AS kg_version
ORDER BY name
