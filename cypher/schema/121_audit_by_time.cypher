// What was changed is read from the newest on, and forgotten from the oldest.
CREATE INDEX audit_by_time IF NOT EXISTS FOR (a:AuditEntry) ON (a.at)
