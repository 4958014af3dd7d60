// Contexts to remember: they cost money.
UNWIND $rows AS row
MERGE (x:CachedContext {key: row.key})
SET x.text = row.text, x.used_at = datetime.realtime()
