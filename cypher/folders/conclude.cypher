// The end of a scan; the next one is due so long after it.
MATCH (f:Folder {folder_id: $folder_id})
SET f.last_scan = $tally, f.scanned_at = datetime.realtime(), f.progress = null, f.error = null,
    f.due_at = datetime.realtime() + duration({seconds: f.every_seconds})
