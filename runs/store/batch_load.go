package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// decisionColumns are the columns that decisions read or that a write replaces.
const decisionColumns = `a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.parent_name, a.action_type, a.phase, a.attempt,
	a.version, a.cache_status, a.admitted_at, a.last_seq, a.output_uri, a.report_uri, a.error, a.abort_reason, a.aborted_by,
	a.signal, a.created_at, a.started_at, a.ended_at, a.updated_at, a.created_by, a.created_by_subject, a.request_digest,
	a.run_output_base, a.max_concurrency, a.paused_count, a.queue, a.priority, a.runner, a.hold, a.queued_until, a.deadline_at,
	a.wake_at, a.due, a.cache_key, a.cache_reason, a.recovered_from, a.cluster, a.notify, a.produces, a.avoid_cluster, a.placement,
	a.phase_counts, a.counted_seq`

// scanDecision scans the decision columns and what follows them.
func scanDecision(rows pgx.Rows, more ...any) (*row, error) {
	r := &row{}
	err := rows.Scan(append([]any{&r.ID, &r.RunID, &r.Project, &r.Domain, &r.RunName, &r.Name, &r.ParentName, &r.ActionType, &r.Phase, &r.Attempt,
		&r.Version, &r.CacheStatus, &r.AdmittedAt, &r.LastSeq, &r.OutputURI, &r.ReportURI, &r.Error, &r.AbortReason, &r.AbortedBy,
		&r.Signal, &r.CreatedAt, &r.StartedAt, &r.EndedAt, &r.UpdatedAt, &r.CreatedBy, &r.CreatedBySubject, &r.RequestDigest,
		&r.RunOutputBase, &r.MaxConcurrency, &r.PausedCount, &r.Queue, &r.Priority, &r.Runner, &r.Hold, &r.QueuedUntil, &r.DeadlineAt,
		&r.WakeAt, &r.Due, &r.CacheKey, &r.CacheReason, &r.RecoveredFrom, &r.Cluster, &r.Notify, &r.Produces, &r.AvoidCluster, &r.Placement,
		&r.PhaseCounts, &r.CountedSeq}, more...)...)
	if err != nil {
		return nil, err
	}
	r.wasLive, r.wasCluster, r.wasHold, r.wasWake, r.wasPhase, r.was = r.live(), r.Cluster, r.Hold, r.WakeAt, r.Phase, r.stand()
	r.loadedSeq = r.LastSeq
	return r, nil
}

// The statements reach rows key by key, each through the one index that is made for it. The planner does not always see
// it that way. With statistics that are missing or out of date, any index that begins with the run looks as good as the
// right one, and reading a whole run once looks cheaper than looking up its keys: a fan-out would read its run again for
// each batch, which is quadratic in its size.
//
// Postgres has no hints, so two means take the choice away. planning and keptPlanning switch off, for this transaction
// alone, every way to read but loops over indexes, and no plan is much older than the tables' size. BETWEEN x AND x
// with ORDER BY and LIMIT asks for an order that only the right index has: with a plain equality the planner knows the
// column to be constant, drops it from the order, and any index will do again. unnest with LATERAL alone, or = ANY, leave
// the choice of the index to the statistics.
//
// Neither means is a promise of Postgres. TestWriterReadsOnlyTheRowsOfItsBatch and TestQueueReadsNoHistory count the index
// entries that are read with missing, misleading and fresh statistics; they have to pass before a new major version of
// Postgres is supported.
const (
	reserveIDs = `SELECT nextval('actions_id_seq') FROM generate_series(1, $1::integer)`

	// Locks are taken in the order of ids, so that two writers cannot wait for each other.
	lockRuns = `
		SELECT ` + decisionColumns + ` FROM actions a
		WHERE a.parent_name IS NULL AND a.id = ANY(ARRAY(
			SELECT root.id FROM unnest($1::text[], $2::text[], $3::text[]) AS k (project, domain, run_name)
			CROSS JOIN LATERAL (
				SELECT r.id FROM actions r
				WHERE r.project = k.project AND r.domain = k.domain AND r.run_name BETWEEN k.run_name AND k.run_name AND r.parent_name IS NULL
				ORDER BY r.run_name LIMIT 1) AS root))
		ORDER BY a.id FOR UPDATE OF a`

	lockRunsByID = `
		SELECT ` + decisionColumns + ` FROM actions a WHERE a.id = ANY($1) AND a.parent_name IS NULL ORDER BY a.id FOR UPDATE`

	// The holder keeps the lease until the transaction ends, even past its expiry.
	lockLease = `SELECT count(*) > 0 FROM (SELECT 1 FROM leases WHERE name = $1 AND holder = $2 FOR SHARE) AS held`

	goingRuns = `
		SELECT d.project, d.domain, d.run_name FROM unnest($1::text[], $2::text[], $3::text[]) AS k (project, domain, run_name)
		JOIN run_deletions d ON d.project = k.project AND d.domain = k.domain AND d.run_name = k.run_name`

	loadRows = `
		SELECT ` + decisionColumns + `
		FROM unnest($1::bigint[], $2::text[]) AS k (run_id, name)
		CROSS JOIN LATERAL (
			SELECT * FROM actions WHERE run_id = k.run_id AND name BETWEEN k.name AND k.name ORDER BY name LIMIT 1) AS a`

	loadRowsByID = `SELECT ` + decisionColumns + ` FROM actions a WHERE a.id = ANY($1)`
)

// load locks the runs of a batch and reads the rows that its operations need.
func (w *Writer) load(ctx context.Context, tx *pgxpool.Conn, requests []*request) (*batch, error) {
	p := &plan{
		runs: map[ident.Run]struct{}{}, runIDs: map[int64]struct{}{},
		rows: map[ident.Action]struct{}{}, subtrees: map[ident.Action]struct{}{},
		sweeps: map[ident.Action]struct{}{},
		ids:    map[int64]struct{}{}, queues: map[string]struct{}{},
		created: map[ident.Run]struct{}{},
	}
	for _, r := range requests {
		r.Value.plan(p)
	}
	now := w.deps.Clock.Now()
	b := &batch{
		now:        now,
		renewPlans: keptPlansOf(tx.Conn()).renew(now),
		open:       w.gate.Open(),
		silence:    w.deps.Silence,
		queues:     w.deps.Queues,
		portion:    w.config.MaxSubtree,
		portions:   map[ident.Action][]*row{},
		runs:       make(map[ident.Run]*run, len(p.runs)),
		byID:       make(map[int64]*run, len(p.runs)),
		going:      map[ident.Run]struct{}{},
	}
	b.openPlaces(w.deps.Places)
	if b.open > 0 && w.deps.GateLease != "" {
		p.lease = w.deps.GateLease
	}
	if err := b.lock(ctx, tx, p, w.deps.Replica); err != nil {
		return nil, fmt.Errorf("lock runs: %w", err)
	}
	if !b.leased && w.deps.GateLease != "" {
		b.open = 0
	}
	if err := b.read(ctx, tx, p); err != nil {
		return nil, fmt.Errorf("load actions: %w", err)
	}
	return b, nil
}

func (b *batch) lock(ctx context.Context, tx sender, p *plan, replica string) error {
	var statements pgx.Batch
	statements.Queue(begin)
	if b.renewPlans {
		statements.Queue(discardPlans)
	}
	statements.Queue(sqltext.KeptPlanning)
	if p.newRows > 0 {
		statements.Queue(sqltext.KeepSpecs)
		statements.Queue(sqltext.SpecGeneration).QueryRow(func(row pgx.Row) error { return row.Scan(&b.specs) })
	}
	if p.lease != "" {
		statements.Queue(lockLease, p.lease, replica).QueryRow(func(row pgx.Row) error { return row.Scan(&b.leased) })
	}
	b.queueDepths(&statements, p.queues)
	addRun := func(r *row) {
		if b.byID[r.ID] == nil {
			run := newRun(r)
			b.runs[r.ident().Run] = run
			b.byID[r.ID] = run
		}
	}
	// Names before ids: admission alone uses ids, and when both are wanted the ids are locked with the names' order
	// broken. A deadlock that this may cause between two replicas is found by Postgres and the batch is repeated.
	if len(p.runs) > 0 {
		projects, domains, names := columnsOf(p.runs)
		statements.Queue(lockRuns, projects, domains, names).Query(eachRow(addRun))
	}
	if len(p.created) > 0 { // after the locks: a run that was there then is not looked for without success
		projects, domains, names := columnsOf(p.created)
		statements.Queue(goingRuns, projects, domains, names).Query(b.addGoing)
	}
	if len(p.runIDs) > 0 {
		statements.Queue(lockRunsByID, slices.Collect(maps.Keys(p.runIDs))).Query(eachRow(addRun))
	}
	if p.newRows > 0 {
		statements.Queue(reserveIDs, p.newRows).Query(func(rows pgx.Rows) error {
			ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			b.ids = ids
			return err
		})
	}
	return tx.SendBatch(ctx, &statements).Close()
}

func columnsOf(runs map[ident.Run]struct{}) (projects, domains, names []string) {
	for run := range runs {
		projects, domains, names = append(projects, run.Project), append(domains, run.Domain), append(names, run.Name)
	}
	return projects, domains, names
}

func (b *batch) addGoing(rows pgx.Rows) error {
	var run ident.Run
	_, err := pgx.ForEachRow(rows, []any{&run.Project, &run.Domain, &run.Name}, func() error {
		b.going[run] = struct{}{}
		return nil
	})
	return err
}

func (b *batch) read(ctx context.Context, tx sender, p *plan) error {
	var statements pgx.Batch
	addRow := func(r *row) { b.add(r) }
	if ids, names := b.keys(p.rows); len(ids) > 0 {
		statements.Queue(loadRows, ids, names).Query(eachRow(addRow))
	}
	if len(p.ids) > 0 {
		statements.Queue(loadRowsByID, slices.Collect(maps.Keys(p.ids))).Query(eachRow(addRow))
	}
	below := b.readSubtrees(&statements, p)
	b.readPortions(&statements, p)
	if statements.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &statements).Close(); err != nil {
		return err
	}
	b.addSubtrees(p, *below)
	return nil
}

// add attaches a row to its run, which is locked, unless it is there already, and returns the row of the batch.
func (b *batch) add(r *row) *row {
	run := b.byID[r.RunID]
	if loaded := run.rows[r.Name]; loaded != nil {
		return loaded
	}
	run.attach(r)
	return r
}

// keys turns names into pairs of run id and name, for the runs that exist.
func (b *batch) keys(wanted map[ident.Action]struct{}) (runIDs []int64, names []string) {
	for action := range wanted {
		if run := b.runs[action.Run]; run != nil {
			runIDs, names = append(runIDs, run.root.ID), append(names, action.Name)
		}
	}
	return runIDs, names
}

func eachRow(add func(*row)) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			r, err := scanDecision(rows)
			if err != nil {
				return err
			}
			add(r)
		}
		return rows.Err()
	}
}
