// name: alive
// The cheapest question: a database that has panicked opens no transaction, so it does not even answer this.
RETURN 1 AS alive
