// The full-text index without titles, which source_words follows.
DROP INDEX source_text IF EXISTS
