// name: alive
// Run the cheapest query. A panicked database opens no transaction, so it does not answer.
RETURN 1 AS alive
