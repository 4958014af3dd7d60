// name: 201_job_states
// Rename the states and the number of failures of jobs, in batches.
MATCH (j:Job)
WHERE j.job_id > $after
WITH j ORDER BY j.job_id LIMIT 10000
SET j.state = CASE j.state
      WHEN 'completed' THEN 'succeeded'
      WHEN 'completed_with_errors' THEN 'succeeded_with_errors'
      WHEN 'dead' THEN 'failed'
      ELSE j.state END,
    j.failures = coalesce(j.failures, j.stumbles, 0), j.stumbles = null
RETURN max(j.job_id) AS after

// name: 202_one_level_of_communities
// Drop the index of parts of communities.
DROP INDEX community_by_parent IF EXISTS

// name: applied
// Return the applied migrations in order.
MATCH (m:Migration)
RETURN m.name AS name, m.checksum AS checksum, m.kg_version AS kg_version
ORDER BY name

// name: constraint
// Prevent duplicate records of a migration.
CREATE CONSTRAINT migration_name IF NOT EXISTS FOR (m:Migration) REQUIRE m.name IS UNIQUE

// name: record
MERGE (m:Migration {name: $name})
ON CREATE SET m.checksum = $checksum, m.kg_version = $kg_version, m.applied_at = datetime.realtime()
