// What a language model's answer cost, once for each receipt: a commit whose answer was lost is repeated, maybe behind
// those of other workers, so the last 64 are kept. The node is locked before what it says is read. The job that spends it
// says so, too.
MATCH (o:Ontology {name: $ontology})
SET o.changed_at = datetime.realtime()
WITH o, coalesce(o.extraction_receipts, []) AS receipts
WITH o, receipts, $receipt IN receipts AS counted
SET o.extraction_spent = coalesce(o.extraction_spent, 0.0) + CASE WHEN counted THEN 0.0 ELSE $cost END,
    o.extraction_receipts = CASE WHEN counted THEN receipts ELSE ([$receipt] + receipts)[..64] END
WITH counted
MATCH (j:Job {job_id: $job_id})
WHERE NOT counted
SET j.spent = coalesce(j.spent, 0.0) + $cost
