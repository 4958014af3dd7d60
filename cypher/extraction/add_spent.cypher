// What a language model's answer cost, once for each receipt: a commit whose answer was lost is repeated. The node is
// locked before what it says is read.
MATCH (o:Ontology {name: $ontology})
SET o.changed_at = datetime.realtime()
WITH o, coalesce(o.extraction_receipt = $receipt, false) AS counted
SET o.extraction_spent = coalesce(o.extraction_spent, 0.0) + CASE WHEN counted THEN 0.0 ELSE $cost END,
    o.extraction_receipt = $receipt
