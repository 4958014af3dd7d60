// name: states
// The indexes that are not lookup indexes, and how far they are populated.
SHOW INDEXES YIELD name, type, state, populationPercent, options
WHERE type <> 'LOOKUP'
RETURN name, type, state, populationPercent AS percent, options
ORDER BY name
