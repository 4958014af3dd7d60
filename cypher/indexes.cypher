// name: states
// Return all indexes except lookup indexes, with their state of population.
SHOW INDEXES YIELD name, type, state, populationPercent, options
WHERE type <> 'LOOKUP'
RETURN name, type, state, populationPercent AS percent, options
ORDER BY name
