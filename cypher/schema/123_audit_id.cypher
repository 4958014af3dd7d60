// An entry is written once.
CREATE CONSTRAINT audit_id IF NOT EXISTS FOR (a:AuditEntry) REQUIRE a.entry_id IS UNIQUE
