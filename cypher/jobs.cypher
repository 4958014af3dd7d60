// name: add_parts
// Create the missing parts of a running job, which any worker can take.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
UNWIND $parts AS part
MERGE (c:Job {unique_key: part.unique_key})
ON CREATE SET c += part.fresh, c.key = part.unique_key, c.parent_id = j.job_id, c.part = part.part,
              c.kind = j.kind, c.ontology = j.ontology, c.selection = j.selection, c.forced_at = j.forced_at, c.rank = j.rank,
              c.put_first = j.put_first,
              c.created_at = datetime.realtime(), c.run_after = datetime.realtime(),
              c.queued_at = datetime.realtime()
RETURN count(c) AS parts

// name: advance
// Move the cursor of a job in the transaction of its work. A repeated commit finds the cursor already moved, so
// nothing counts twice. A part also counts for its parent, which every statement locks before the part.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = $worker)
SET j.locked_by = $worker
WITH j, p,
     j.state = 'running' AND j.fence = $fence
       AND (j.parent_id IS NULL OR coalesce(p.state IN ['queued', 'running'], false)) AS owned,
     j.cursor = $before AS fresh
FOREACH (each IN CASE WHEN owned AND fresh THEN [x IN [j, p] WHERE x IS NOT NULL] ELSE [] END |
  SET each.total = CASE WHEN each.done + $done > each.total THEN each.done + $done ELSE each.total END
  SET each.done = each.done + $done, each.set_aside = coalesce(each.set_aside, 0) + $set_aside)
FOREACH (_ IN CASE WHEN owned AND fresh THEN [1] ELSE [] END |
  SET j.cursor = $after, j.failures = 0, j.waits = 0, j.error = null, j.progressed_at = datetime.realtime(),
      j.lease_until = datetime.realtime() + duration({seconds: $lease_seconds}))
RETURN owned AND j.cursor = $after AS advanced

// name: cancel
// Cancel a queued or running job. Later writes of its worker are rejected.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = 'cancel'
WITH j, j.state AS before
FOREACH (_ IN CASE WHEN before IN ['queued', 'running'] THEN [1] ELSE [] END |
  SET j.state = 'cancelled', j.unique_key = null, j.finished_at = datetime.realtime(), j.lease_until = null,
      j.worker = null, j.error = 'cancelled on request')
RETURN before, j.kind AS kind, j.ontology AS ontology, j.parent_id AS parent_id

// name: count
// Count jobs without parts.
MATCH (j:Job)
WHERE ($state IS NULL OR $state = CASE WHEN j.state = 'queued' AND EXISTS {
    MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' } THEN 'running' ELSE j.state END) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontologies IS NULL OR j.ontology IN $ontologies) AND NOT j.kind IN $hidden
  AND j.parent_id IS NULL
RETURN count(j) AS total

// name: count_queued
// Count queued jobs up to a limit.
MATCH (j:Job)
WHERE j.state = 'queued' AND j.queued_at IS NOT NULL
WITH j LIMIT $limit
RETURN count(j) AS queued

// name: deaths
// Return the last ended jobs of a kind in an ontology, newest first, to find the number of failures and the cooldown.
MATCH (j:Job)
WHERE j.state IN ['failed', 'succeeded', 'succeeded_with_errors', 'cancelled']
  AND j.kind = $kind AND j.ontology = $ontology AND j.parent_id IS NULL
RETURN j.state = 'failed' AS failed, coalesce(j.permanent, false) AS permanent,
       duration.inSeconds(j.finished_at, datetime.realtime()).seconds AS seconds
ORDER BY j.created_at DESC LIMIT 10

// name: end_parts
// Cancel the parts of an ended job.
MATCH (c:Job)
WHERE c.parent_id = $job_id AND c.state IN ['queued', 'running']
SET c.locked_by = $job_id
WITH c
WHERE c.state IN ['queued', 'running']
SET c.state = 'cancelled', c.unique_key = null, c.finished_at = datetime.realtime(), c.lease_until = null,
    c.worker = null, c.error = 'the job that it is a part of has ended'

// name: enqueue_slot
// Create one job per slot of a schedule, also with several schedulers: its id is the kind and the slot by the
// database's clock. While a job of the kind is queued or running, none is created, so that jobs do not accumulate.
OPTIONAL MATCH (busy:Job)
WHERE busy.state IN ['queued', 'running'] AND busy.kind = $fresh.kind
WITH count(busy) AS busy,
     coalesce($slot, toString(toInteger(datetime.realtime().epochMillis / (1000.0 * $every_seconds)))) AS slot
WITH busy, $fresh.kind + '-' + slot AS job_id
FOREACH (_ IN CASE WHEN busy = 0 THEN [1] ELSE [] END |
  MERGE (j:Job {job_id: job_id})
  ON CREATE SET j += $fresh, j.created_at = datetime.realtime(), j.run_after = datetime.realtime(),
                j.queued_at = datetime.realtime())
RETURN job_id

// name: expect
// Set the remaining work of a job, as counted by its worker.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
SET j.total = j.done + $left
RETURN j.total AS total

// name: fail
// Record a failure: the job waits for a retry, or fails after too many failures without progress.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
WITH j, j.failures + 1 >= $max_failures OR $permanent AS failed,
     datetime.realtime() + duration({seconds: $delay_seconds}) AS later
SET j.failures = j.failures + 1, j.error = $error, j.permanent = $permanent, j.worker = null, j.lease_until = null,
    j.state = CASE WHEN failed THEN 'failed' ELSE 'queued' END,
    j.unique_key = CASE WHEN failed THEN null ELSE j.unique_key END,
    j.finished_at = CASE WHEN failed THEN datetime.realtime() ELSE null END,
    j.run_after = later, j.queued_at = later
RETURN j.state AS state

// name: find
MATCH (j:Job {job_id: $job_id})
RETURN j {.*, now: datetime.realtime(), parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] }, running_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' }, stalled_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' AND c.lease_until < datetime.realtime() }} AS job

// name: finish
// End a job, or start another round if work was requested since its last check. The end of the last part makes its
// parent ready at once, unless the parent has an error and waits for its retry. Callers that do not own the part, or
// end it twice, do not change the parent's place in the queue.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = $worker)
SET j.locked_by = $worker
WITH j, p, j.state = 'running' AND j.fence = $fence AS owned, j.wanted = $wanted AS last,
     CASE WHEN coalesce(j.set_aside, 0) > 0 THEN 'succeeded_with_errors' ELSE 'succeeded' END AS end
FOREACH (_ IN CASE WHEN owned AND last THEN [1] ELSE [] END |
  SET j.state = end, j.unique_key = null, j.finished_at = datetime.realtime(), j.total = j.done,
      j.cursor = '', j.error = null, j.lease_until = null)
FOREACH (_ IN CASE WHEN owned AND NOT last THEN [1] ELSE [] END | SET j.cursor = '')
WITH j, p, end, owned AND last AS ended
FOREACH (_ IN CASE WHEN ended AND p.state = 'queued' AND p.error IS NULL AND NOT EXISTS {
    MATCH (c:Job) WHERE c.parent_id = p.job_id AND c.state IN ['queued', 'running'] } THEN [1] ELSE [] END |
  SET p.run_after = datetime.realtime(), p.queued_at = datetime.realtime())
RETURN j.fence = $fence AND j.state IN ['running', end] AS owned, j.state = end AS finished,
       j.wanted AS wanted, j.selection AS selection, j.forced_at AS forced_at

// name: give_back
// Return a job to the queue. It keeps its place if another worker may take it at once. It moves to the end if it
// yields or waits. A job that waits because of an error never dies of that error. A pause clears an older error,
// which would keep the last part from waking the job (finish).
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j, datetime.realtime() + duration({seconds: $delay_seconds}) AS later
WHERE j.state = 'running' AND j.fence = $fence
SET j.state = 'queued', j.worker = null, j.lease_until = null, j.run_after = later,
    j.queued_at = CASE WHEN $keeps_place THEN j.queued_at ELSE later END,
    j.waits = CASE WHEN $error IS NULL THEN j.waits ELSE coalesce(j.waits, 0) + 1 END,
    j.error = CASE WHEN $error IS NOT NULL THEN $error WHEN $delay_seconds > 0 THEN null ELSE j.error END

// name: heartbeat
// Extend the lease of a job. A job without progress for too long dies.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
WITH j, coalesce(j.progressed_at < datetime.realtime() - duration({seconds: $stuck_seconds}), false) AS stuck
SET j.lease_until = CASE WHEN stuck THEN null
                    ELSE datetime.realtime() + duration({seconds: $lease_seconds}) END,
    j.state = CASE WHEN stuck THEN 'failed' ELSE 'running' END,
    j.error = CASE WHEN stuck THEN $error ELSE j.error END,
    j.permanent = CASE WHEN stuck THEN false ELSE j.permanent END,
    j.unique_key = CASE WHEN stuck THEN null ELSE j.unique_key END,
    j.finished_at = CASE WHEN stuck THEN datetime.realtime() ELSE null END
RETURN stuck

// name: holder_of_key
// Return the unfinished job of a key.
MATCH (j:Job {unique_key: $unique_key})
RETURN j.job_id AS job_id

// name: lock
// Lock a job after its parent, before a change of both.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = 'retry')
SET j.locked_by = 'retry'
RETURN j.state AS state, j.run_after > datetime.realtime() OR coalesce(j.rank, 0) > 0 AS later, j.kind AS kind, j.ontology AS ontology,
       j.key AS key, j.parent_id AS parent_id, p.state AS parent_state

// name: lower
// Lower the priority of a job after its urgent work, unless more was requested since its last check. Its parent
// follows if no other part is urgent. Jobs that a user put first keep their priority.
MATCH (j:Job {job_id: $job_id})
OPTIONAL MATCH (p:Job {job_id: j.parent_id})
FOREACH (whole IN CASE WHEN p IS NULL THEN [] ELSE [p] END | SET whole.locked_by = $worker)
SET j.locked_by = $worker
WITH j, p
WHERE j.state = 'running' AND j.fence = $fence
WITH j, p, j.wanted = $wanted AS last
FOREACH (_ IN CASE WHEN last THEN [1] ELSE [] END | SET j.rank = CASE WHEN j.put_first THEN j.rank ELSE $rank END)
FOREACH (whole IN CASE WHEN p IS NULL OR EXISTS {
    MATCH (c:Job)
    WHERE c.parent_id = p.job_id AND c.state IN ['queued', 'running'] AND c.rank < $rank
  } THEN [] ELSE [p] END | SET whole.rank = CASE WHEN whole.put_first THEN whole.rank ELSE $rank END)
RETURN last, j.rank AS rank, j.wanted AS wanted, j.selection AS selection, j.forced_at AS forced_at

// name: next
// Return available jobs in order of priority. Only jobs of the first rank that is running or waiting are available:
// while a job of a lower rank number runs anywhere, no other rank starts. Within a rank, the order is: jobs of lost
// workers, ontologies with the fewest running jobs, time in the queue. The query reads the index in order, and so
// also sorts by state and rank. It stops at the first jobs of ontologies without running jobs. It reads all waiting
// jobs only if there are none. For 10,000 jobs, this takes 2 ms, compared to 280 ms for a full sort.
CALL () {
  MATCH (r:Job)
  WHERE r.state = 'running' AND r.queued_at IS NOT NULL
  WITH r, coalesce(r.rank, 0) AS rank, r.lease_until < datetime.realtime() OR r.worker = $worker AS lost
  WITH r, rank, lost, lost AND r.kind IN $kinds AS had
  RETURN collect(CASE WHEN NOT lost THEN coalesce(r.ontology, '') END) AS running,
         collect(CASE WHEN had THEN {job_id: r.job_id, rank: rank} END) AS left,
         min(CASE WHEN had OR NOT lost THEN rank END) AS at_work
}
CALL () {
  UNWIND $ranks AS rank
  CALL (rank) {
    MATCH (j:Job)
    USING INDEX SEEK j:Job(state, rank, queued_at)
    WHERE j.state = 'queued' AND j.rank = rank AND j.queued_at <= datetime.realtime()
      AND j.run_after <= datetime.realtime() AND j.kind IN $kinds
    RETURN j.rank AS waits LIMIT 1
  }
  RETURN min(waits) AS waiting
}
WITH running, left, CASE WHEN waiting < coalesce(at_work, waiting) THEN waiting ELSE coalesce(at_work, waiting) END AS first
CALL (running, first) {
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE j.state = 'queued' AND j.rank = first AND j.queued_at <= datetime.realtime()
    AND j.run_after <= datetime.realtime() AND j.kind IN $kinds AND NOT coalesce(j.ontology, '') IN running
  WITH j ORDER BY j.state, j.rank, j.queued_at LIMIT $limit
  RETURN collect(j.job_id) AS free
}
CALL (running, first, free) {
  UNWIND CASE WHEN free = [] THEN [1] ELSE [] END AS _
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE j.state = 'queued' AND j.rank = first AND j.queued_at <= datetime.realtime()
    AND j.run_after <= datetime.realtime() AND j.kind IN $kinds AND coalesce(j.ontology, '') IN running
  WITH j, size([each IN running WHERE each = coalesce(j.ontology, '')]) AS rank
  ORDER BY rank, j.queued_at LIMIT $limit
  RETURN collect({job_id: j.job_id, rank: rank}) AS busy
}
CALL () {
  MATCH (w:Worker)
  WHERE w.seen_at > datetime.realtime() - duration({seconds: $alive_seconds})
  RETURN count(w) AS workers
}
UNWIND [each IN left WHERE each.rank = first | {job_id: each.job_id, rank: -1}]
     + [each IN free | {job_id: each, rank: 0}] + busy AS found
RETURN found.job_id AS job_id, found.rank AS rank, workers

// name: others_wait
// Check whether a job must yield: a job of a lower rank number is running (also this one if it was put first) or
// available. After its time slice, an available job of the same rank also counts, if it has another ontology or kind
// or is the parent of this part.
CALL () {
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE j.state = 'running' AND j.rank < $rank AND j.queued_at IS NOT NULL
    AND (j.kind IN $kinds OR j.lease_until >= datetime.realtime())
    AND coalesce(j.job_id <> $parent_id, true)
  RETURN j LIMIT 1
  UNION
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE j.state = 'queued' AND j.rank < $rank AND j.queued_at <= datetime.realtime()
    AND j.run_after <= datetime.realtime() AND j.kind IN $kinds AND coalesce(j.job_id <> $parent_id, true)
  RETURN j LIMIT 1
  UNION
  MATCH (j:Job)
  USING INDEX SEEK j:Job(state, rank, queued_at)
  WHERE $over AND j.state = 'queued' AND j.rank <= $rank AND j.queued_at <= datetime.realtime()
    AND j.run_after <= datetime.realtime() AND j.kind IN $kinds
    AND (j.kind <> $kind OR coalesce(j.ontology, '') <> $ontology OR j.job_id = $parent_id)
  RETURN j LIMIT 1
}
RETURN count(j) > 0 AS others

// name: page
// Return a page of jobs without parts, newest first. A job is running if a part is running.
MATCH (j:Job)
WHERE ($state IS NULL OR $state = CASE WHEN j.state = 'queued' AND EXISTS {
    MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' } THEN 'running' ELSE j.state END) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontologies IS NULL OR j.ontology IN $ontologies) AND NOT j.kind IN $hidden
  AND j.parent_id IS NULL
WITH j ORDER BY j.created_at DESC, j.job_id SKIP $offset LIMIT $limit
RETURN j {.*, now: datetime.realtime(), parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] }, running_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' }, stalled_parts: COUNT {
         MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' AND c.lease_until < datetime.realtime() }} AS job
ORDER BY job.created_at DESC, job.job_id

// name: pause
// Pause work in an ontology after a cancellation, until a user requests it.
MATCH (o:Ontology {name: $ontology})
WHERE $paused OR o.paused
SET o.paused = CASE WHEN $paused THEN true END

// name: prune
// Delete old finished jobs: scheduled jobs after an hour, others later. The last failed job is kept if a user must fix
// its error and its work starts only on request.
MATCH (j:Job)
WHERE j.state IN ['succeeded', 'succeeded_with_errors', 'cancelled', 'failed'] AND j.finished_at <
  datetime.realtime() - CASE WHEN j.kind IN $periodic THEN duration({hours: 1}) ELSE duration({days: $days}) END
  AND NOT (j.kind IN $asked_for AND j.state = 'failed' AND coalesce(j.permanent, false) AND NOT EXISTS {
    MATCH (later:Job)
    WHERE later.kind = j.kind AND later.ontology = j.ontology AND later.created_at > j.created_at
  } AND EXISTS {
    MATCH (o:Ontology)
    WHERE o.name = j.ontology
  })
WITH j LIMIT 10000
DETACH DELETE j
RETURN count(*) AS pruned

// name: request
// Create a job for a kind and key, or join an unfinished one. Callers that do not join leave an existing job
// unchanged. The statement runs in the transaction that creates the work, so both exist or neither. `wanted` makes a
// running job check again. If the job ended during the wait for its lock, it is not open, and the caller must request
// again.
MERGE (j:Job {unique_key: $fresh.key})
ON CREATE SET j += $fresh, j.created_at = datetime.realtime(), j.run_after = datetime.realtime(),
              j.queued_at = datetime.realtime()
WITH j, j.job_id = $fresh.job_id AS created
FOREACH (_ IN CASE WHEN created OR $joins THEN [1] ELSE [] END |
  SET j.wanted = j.wanted + 1, j.total = j.total + $added,
      j.rank = CASE WHEN $fresh.rank < coalesce(j.rank, 0) THEN $fresh.rank ELSE coalesce(j.rank, 0) END,
      j.selection = CASE WHEN j.selection = $fresh.selection THEN j.selection ELSE 'due' END,
      j.forced_at = CASE WHEN $force THEN datetime.realtime() ELSE j.forced_at END)
FOREACH (part IN COLLECT {
    MATCH (c:Job)
    WHERE $joins AND c.parent_id = j.job_id AND c.state IN ['queued', 'running'] AND c.rank > j.rank RETURN c
  } | SET part.rank = j.rank)
RETURN j.job_id AS job_id, j.unique_key IS NOT NULL AS open, created

// name: requeue
// Restart an ended job. Completed work is skipped, and skipped items are retried.
MATCH (j:Job {job_id: $job_id})
WITH j, CASE WHEN j.done > coalesce(j.set_aside, 0) THEN j.done - coalesce(j.set_aside, 0) ELSE 0 END AS done
SET j.done = done, j.set_aside = 0, j.state = 'queued', j.unique_key = $unique_key, j.failures = 0, j.waits = 0,
    j.cursor = '', j.error = null, j.permanent = null, j.worker = null, j.lease_until = null,
    j.finished_at = null, j.rank = $rank, j.put_first = null, j.run_after = datetime.realtime(), j.queued_at = datetime.realtime()

// name: run_now
// Retry a waiting job at once, with the first rank.
MATCH (j:Job {job_id: $job_id})
SET j.run_after = CASE WHEN j.run_after > datetime.realtime() THEN datetime.realtime() ELSE j.run_after END,
    j.queued_at = CASE WHEN j.queued_at > datetime.realtime() THEN datetime.realtime() ELSE j.queued_at END, j.rank = 0,
    j.put_first = true
FOREACH (part IN COLLECT {
    MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] RETURN c
  } | SET part.rank = 0, part.put_first = true)

// name: take
// Take a queued job, a job with an expired lease, or a job that this worker lost. The state is read after the lock.
// Without this order, 515 claims were made for 200 jobs.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE (j.state = 'queued' AND j.run_after <= datetime.realtime())
   OR (j.state = 'running' AND (j.lease_until < datetime.realtime() OR j.worker = $worker))
WITH j, CASE WHEN j.state = 'running' AND j.worker <> $worker THEN 1 ELSE 0 END AS lost
WITH j, j.failures + lost AS failures,
     CASE WHEN lost = 1 THEN 'its worker ' + j.worker + ' was lost' ELSE j.error END AS error
SET j.failures = failures, j.error = error, j.attempts = j.attempts + 1, j.fence = j.fence + 1,
    j.worker = $worker, j.lease_until = datetime.realtime() + duration({seconds: $lease_seconds}),
    j.started_at = coalesce(j.started_at, datetime.realtime()),
    j.claimed_at = datetime.realtime(), j.done_at_claim = j.done, j.progressed_at = datetime.realtime(),
    j.state = CASE WHEN failures >= $max_failures THEN 'failed' ELSE 'running' END,
    j.unique_key = CASE WHEN failures >= $max_failures THEN null ELSE j.unique_key END,
    j.finished_at = CASE WHEN failures >= $max_failures THEN datetime.realtime() ELSE null END
RETURN j.job_id AS job_id, j.kind AS kind, j.state AS state, j.ontology AS ontology, j.fence AS fence,
       j.cursor AS cursor, j.wanted AS wanted, j.failures AS failures, coalesce(j.waits, 0) AS waits,
       coalesce(j.selection, 'due') AS selection, j.forced_at AS forced_at, coalesce(j.part, '') AS part,
       j.parent_id AS parent_id, j.done AS done, j.total AS total, j.request_id AS request_id,
       j.traceparent AS traceparent, coalesce(j.rank, 0) AS rank

// name: unfinished
// Return the unfinished jobs of a kind.
MATCH (j:Job)
WHERE j.state IN ['queued', 'running'] AND j.kind = $kind AND j.created_at IS NOT NULL AND j.parent_id IS NULL
RETURN j.ontology AS ontology, j.done AS done, j.total AS total, j.forced_at IS NOT NULL AS forced
ORDER BY ontology

// name: unfinished_parts
// Return the unfinished parts of a job.
MATCH (c:Job)
WHERE c.parent_id = $job_id AND c.state IN ['queued', 'running']
RETURN c.part AS part
ORDER BY part

// name: unknown_kinds
// Count queued jobs that need a worker of another version.
MATCH (j:Job)
WHERE j.state = 'queued' AND j.queued_at IS NOT NULL AND NOT j.kind IN $kinds
RETURN j.kind AS kind, count(j) AS waiting
ORDER BY kind
