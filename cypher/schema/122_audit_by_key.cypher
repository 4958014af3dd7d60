// What was changed with one key, from the newest on.
CREATE INDEX audit_by_key IF NOT EXISTS FOR (a:AuditEntry) ON (a.key_id, a.at)
