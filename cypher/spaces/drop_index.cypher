// The vector index of a space that is being removed.
DROP INDEX $name IF EXISTS
