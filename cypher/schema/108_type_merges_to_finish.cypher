// Merges of types and their undoings that may have been broken off before that was noted: the worker finishes them.
MATCH (m:TypeMerge)
SET m.renaming = coalesce(m.renaming, randomUUID())
