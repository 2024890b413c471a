package usages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Store reads and writes what attempts used.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Key names an attempt.
type Key struct {
	ActionID int64
	Attempt  int32
}

// Triple are amounts of processors, memory and disk; nil where they are not known.
type Triple struct{ CPU, Memory, Disk *int64 }

// Row is what is kept of an attempt.
type Row struct {
	Key
	LastAt           time.Time
	CPUMs            int64
	MeasuredMs       *int64 // for how long CPUMs counts; nil where that is not known
	GPUs             int16
	Requests, Limits Triple
	Peaks            Triple
	PeakGPU          *int64
	PeakGPUMemory    *int64
	Points           []byte
}

const (
	amounts = `last_at, cpu_ms, measured_ms, gpus, request_cpu, request_memory, request_disk, limit_cpu, limit_memory, limit_disk,
	peak_cpu, peak_memory, peak_disk, peak_gpu, peak_gpu_memory, points`
	columns = `action_id, attempt, ` + amounts
)

func (r *Row) targets() []any {
	return []any{
		&r.ActionID, &r.Attempt, &r.LastAt, &r.CPUMs, &r.MeasuredMs, &r.GPUs, &r.Requests.CPU, &r.Requests.Memory, &r.Requests.Disk,
		&r.Limits.CPU, &r.Limits.Memory, &r.Limits.Disk, &r.Peaks.CPU, &r.Peaks.Memory, &r.Peaks.Disk, &r.PeakGPU, &r.PeakGPUMemory, &r.Points,
	}
}

func scan(row pgx.CollectableRow) (r Row, err error) { return r, row.Scan(r.targets()...) }

// Change reads the rows of some attempts, has them changed and writes them, in one transaction. Attempts without a row come as rows
// with their key only. Attempts of actions that do not exist, or not on the cluster, are left out, and so are rows that change reports to be as
// they were. An empty cluster is every one.
func (s *Store) Change(ctx context.Context, cluster string, keys []Key, change func(*Row) (changed bool, err error)) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := lock(ctx, tx, cluster, keys)
		if err != nil {
			return err
		}
		var statements pgx.Batch
		for i := range rows {
			changed, err := change(&rows[i])
			if err != nil {
				return err
			}
			if changed {
				statements.Queue(upsert, values(&rows[i])...)
			}
		}
		return tx.SendBatch(ctx, &statements).Close()
	})
	if err != nil {
		return fmt.Errorf("store what attempts used: %w", err)
	}
	return nil
}

const upsert = `
	INSERT INTO attempt_usage (` + columns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
	ON CONFLICT (action_id, attempt) DO UPDATE SET last_at = EXCLUDED.last_at, cpu_ms = EXCLUDED.cpu_ms, measured_ms = EXCLUDED.measured_ms, gpus = EXCLUDED.gpus,
		request_cpu = EXCLUDED.request_cpu, request_memory = EXCLUDED.request_memory, request_disk = EXCLUDED.request_disk,
		limit_cpu = EXCLUDED.limit_cpu, limit_memory = EXCLUDED.limit_memory, limit_disk = EXCLUDED.limit_disk,
		peak_cpu = EXCLUDED.peak_cpu, peak_memory = EXCLUDED.peak_memory, peak_disk = EXCLUDED.peak_disk,
		peak_gpu = EXCLUDED.peak_gpu, peak_gpu_memory = EXCLUDED.peak_gpu_memory, points = EXCLUDED.points`

func values(r *Row) []any {
	return []any{
		r.ActionID, r.Attempt, r.LastAt, r.CPUMs, r.MeasuredMs, r.GPUs, r.Requests.CPU, r.Requests.Memory, r.Requests.Disk,
		r.Limits.CPU, r.Limits.Memory, r.Limits.Disk, r.Peaks.CPU, r.Peaks.Memory, r.Peaks.Disk, r.PeakGPU, r.PeakGPUMemory, r.Points,
	}
}

// lock reads the rows of attempts whose actions exist on a cluster, in the order of their keys, so that two callers never wait for each other.
func lock(ctx context.Context, tx pgx.Tx, cluster string, keys []Key) ([]Row, error) {
	ids, attempts := make([]int64, len(keys)), make([]int32, len(keys))
	for i, key := range keys {
		ids[i], attempts[i] = key.ActionID, key.Attempt
	}
	// Actions come first, as for retention: it locks an action, and then the database deletes the rows that refer to it. The
	// lock keeps it from deleting an action between this and the insert.
	const exist = `SELECT id FROM actions WHERE id = ANY($1) AND ($2 = '' OR cluster = $2) ORDER BY id FOR KEY SHARE`
	rows, err := tx.Query(ctx, exist, ids, cluster)
	if err != nil {
		return nil, err
	}
	live, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	exists := map[int64]bool{}
	for _, id := range live {
		exists[id] = true
	}
	const stored = `SELECT ` + columns + ` FROM attempt_usage
		WHERE (action_id, attempt) IN (SELECT * FROM unnest($1::bigint[], $2::integer[])) ORDER BY action_id, attempt FOR UPDATE`
	found, err := collect(tx.Query(ctx, stored, ids, attempts))
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(row Row) bool { return !exists[row.ActionID] })
	known := map[Key]bool{}
	for i := range found {
		known[found[i].Key] = true
	}
	for _, key := range keys {
		if exists[key.ActionID] && !known[key] {
			known[key] = true
			found = append(found, Row{Key: key})
		}
	}
	return found, nil
}

func collect(rows pgx.Rows, err error) ([]Row, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// Measured is what is kept of one attempt, and how it ended.
type Measured struct {
	Row
	// EndedAt is when the attempt ended; nil while it runs.
	EndedAt *time.Time
	// Error is the encoded core.ExecutionError with which the attempt ended; empty if there is none.
	Error []byte
}

// Attempts reads what is kept of the attempts of an action, by attempt, and who runs them. It returns NotFound when the
// action does not exist.
func (s *Store) Attempts(ctx context.Context, id ident.Action) (by schema.Runner, all []Measured, err error) {
	const find = `SELECT a.id, a.runner FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4
		WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL`
	var actionID int64
	err = s.pool.QueryRow(ctx, find, id.Run.Project, id.Run.Domain, id.Run.Name, id.Name).Scan(&actionID, &by)
	if errors.Is(err, pgx.ErrNoRows) {
		return by, nil, rpc.NotFound("action %s does not exist", id)
	}
	if err != nil {
		return by, nil, fmt.Errorf("find action %s: %w", id, err)
	}
	all, err = s.measured(ctx, `SELECT `+measuredColumns+` FROM attempt_usage u JOIN actions a ON a.id = u.action_id `+ending+`
		WHERE u.action_id = $1 ORDER BY u.attempt`, actionID)
	if err != nil {
		return by, nil, fmt.Errorf("read what action %s used: %w", id, err)
	}
	return by, all, nil
}

// Task names a task. An empty version means all versions.
type Task struct{ Project, Domain, Name, Version string }

// OfTask reads what is kept of the attempts of the last actions of a task that ended, newest first.
func (s *Store) OfTask(ctx context.Context, task Task, actions int) ([]Measured, error) {
	found, err := s.measured(ctx, `
		SELECT `+measuredColumns+` FROM (
			SELECT id, attempt, ended_at, error FROM actions WHERE action_type = `+sqltext.Task+` AND ended_at IS NOT NULL AND task_project = $1 AND task_domain = $2 AND task_name = $3
				AND ($4 = '' OR task_version = $4) ORDER BY ended_at DESC LIMIT $5
		) a JOIN attempt_usage u ON u.action_id = a.id `+ending+` ORDER BY a.ended_at DESC, u.attempt DESC`,
		task.Project, task.Domain, task.Name, task.Version, actions)
	if err != nil {
		return nil, fmt.Errorf("read what task %s used: %w", task.Name, err)
	}
	return found, nil
}

const (
	measuredColumns = `u.action_id, u.attempt, ` + amounts + `, CASE WHEN u.attempt = a.attempt THEN a.ended_at ELSE e.recorded_at END,
		COALESCE(e.error, CASE WHEN u.attempt = a.attempt THEN a.error END)`
	// ending finds the error of an attempt, which stays in its events when the next attempt begins.
	ending = `LEFT JOIN LATERAL (
		SELECT error, recorded_at FROM action_events WHERE action_id = u.action_id AND attempt = u.attempt AND error IS NOT NULL
		ORDER BY seq DESC LIMIT 1
	) e ON true`
)

func (s *Store) measured(ctx context.Context, sql string, args ...any) ([]Measured, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Measured, err error) {
		return m, row.Scan(append(m.targets(), &m.EndedAt, &m.Error)...)
	})
}
