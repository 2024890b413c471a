package rollups

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Outcome is how an action ended.
type Outcome struct {
	Phase int16
	Hit   bool          // the cache had its outputs
	Ran   time.Duration // 0 if it did not run
	At    time.Time
}

// Window is how many days count as now, and as many before.
const Window = 7

// The values of what is not known.
const (
	NoTime   = -1
	NoRate   = -1
	NoChange = math.MinInt32
)

// Health is how a task does now.
type Health struct {
	ID int64
	Task
	LastAt                         time.Time
	Outcomes                       []byte
	Succeeded, Failed, Aborted     int32
	Hits, Misses                   int32
	Earlier                        int32
	P50, P90, P50Before, P90Before int64 // milliseconds or NoTime
	ChangeP50, ChangeP90           int32 // thousandths or NoChange
	FailureRate, HitRate           int32 // thousandths or NoRate
	Use                            Use
	Weight                         int64
	AsOf                           time.Time
	keys                           []string
}

const healthColumns = `h.id, h.project, h.domain, h.task, h.last_at, h.outcomes, h.succeeded, h.failed, h.aborted, h.hits, h.misses, h.earlier,
	h.p50, h.p90, h.p50_before, h.p90_before, h.change_p50, h.change_p90, h.failure_rate, h.hit_rate, h.cpu, h.memory, h.gpu, h.weight, h.as_of`

func (h *Health) targets() []any {
	return []any{
		&h.ID, &h.Project, &h.Domain, &h.Name, &h.LastAt, &h.Outcomes, &h.Succeeded, &h.Failed, &h.Aborted, &h.Hits, &h.Misses, &h.Earlier,
		&h.P50, &h.P90, &h.P50Before, &h.P90Before, &h.ChangeP50, &h.ChangeP90, &h.FailureRate, &h.HitRate, &h.Use.CPU, &h.Use.Memory, &h.Use.GPU, &h.Weight, &h.AsOf,
	}
}

func scanHealth(row pgx.CollectableRow) (h Health, err error) { return h, row.Scan(h.targets()...) }

func taskKeys(tasks []Task) []any {
	return []any{
		sqltext.Column(tasks, func(t Task) string { return t.Project }), sqltext.Column(tasks, func(t Task) string { return t.Domain }),
		sqltext.Column(tasks, func(t Task) string { return t.Name }),
	}
}

const namedTasks = ` JOIN unnest($1::text[], $2::text[], $3::text[]) AS u (p, m, t) ON `

// saveHealth makes the rows of tasks again, with further outcomes.
func saveHealth(ctx context.Context, tx pgx.Tx, tasks []Task, more map[Task][]Outcome, today time.Time, prices Prices, sums Sums) error {
	if len(tasks) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `SELECT `+healthColumns+` FROM task_health h`+namedTasks+`(h.project, h.domain, h.task) = (u.p, u.m, u.t)`, taskKeys(tasks)...)
	if err != nil {
		return err
	}
	had, err := pgx.CollectRows(rows, scanHealth)
	if err != nil {
		return err
	}
	all := make(map[Task]*Health, len(tasks))
	for i := range had {
		all[had[i].Task] = &had[i]
	}
	days, used, err := weeks(ctx, tx, tasks, today)
	if err != nil {
		return err
	}
	var statements pgx.Batch
	for _, task := range tasks {
		h := all[task]
		if h == nil {
			h = &Health{Task: task}
		}
		for _, outcome := range more[task] {
			if outcome.At.After(h.LastAt) {
				h.LastAt = outcome.At
			}
		}
		h.Outcomes = sums.Append(h.Outcomes, more[task])
		if err := sums.Health(today, days[task], used[task], h); err != nil {
			return fmt.Errorf("task %s of %s/%s: %w", task.Name, task.Project, task.Domain, err)
		}
		statements.Queue(upsertHealth, h.Project, h.Domain, h.Name, h.LastAt, h.Outcomes, h.Succeeded, h.Failed, h.Aborted, h.Hits, h.Misses, h.Earlier,
			h.P50, h.P90, h.P50Before, h.P90Before, h.ChangeP50, h.ChangeP90, h.FailureRate, h.HitRate, h.Use.CPU, h.Use.Memory, h.Use.GPU,
			prices.Weigh(used[task]), today, prices.ID)
	}
	return tx.SendBatch(ctx, &statements).Close()
}

const upsertHealth = `
	INSERT INTO task_health (project, domain, task, last_at, outcomes, succeeded, failed, aborted, hits, misses, earlier,
		p50, p90, p50_before, p90_before, change_p50, change_p90, failure_rate, hit_rate, cpu, memory, gpu, weight, as_of, prices)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
	ON CONFLICT (project, domain, task) DO UPDATE SET last_at = EXCLUDED.last_at, outcomes = EXCLUDED.outcomes, succeeded = EXCLUDED.succeeded,
		failed = EXCLUDED.failed, aborted = EXCLUDED.aborted, hits = EXCLUDED.hits, misses = EXCLUDED.misses, earlier = EXCLUDED.earlier,
		p50 = EXCLUDED.p50, p90 = EXCLUDED.p90, p50_before = EXCLUDED.p50_before, p90_before = EXCLUDED.p90_before,
		change_p50 = EXCLUDED.change_p50, change_p90 = EXCLUDED.change_p90, failure_rate = EXCLUDED.failure_rate, hit_rate = EXCLUDED.hit_rate,
		cpu = EXCLUDED.cpu, memory = EXCLUDED.memory, gpu = EXCLUDED.gpu, weight = EXCLUDED.weight, as_of = EXCLUDED.as_of, prices = EXCLUDED.prices`

// weeks reads the days of the last two weeks of tasks, and what they used in the last.
func weeks(ctx context.Context, tx pgx.Tx, tasks []Task, today time.Time) (map[Task][]TaskDay, map[Task][]Priced, error) {
	first := today.AddDate(0, 0, 1-2*Window)
	rows, err := tx.Query(ctx, `SELECT `+dayColumns+` FROM task_days d`+namedTasks+`d.project = u.p AND d.domain = u.m AND d.task = u.t AND d.day BETWEEN $4 AND $5`,
		append(taskKeys(tasks), first, today)...)
	if err != nil {
		return nil, nil, err
	}
	found, err := pgx.CollectRows(rows, scanDay)
	if err != nil {
		return nil, nil, err
	}
	days := make(map[Task][]TaskDay, len(tasks))
	for _, d := range found {
		days[d.Task] = append(days[d.Task], d)
	}
	week := make([]time.Time, Window) // one by one, so that an index finds a name on each
	for i := range week {
		week[i] = today.AddDate(0, 0, -i)
	}
	rows, err = tx.Query(ctx, `
		SELECT d.project, d.domain, d.name, r.cluster, r.queue, r.accelerator, sum(d.cpu)::bigint, sum(d.memory)::bigint, sum(d.gpu)::bigint
		FROM use_days d`+namedTasks+`d.project = u.p AND d.domain = u.m AND d.name = u.t AND d.kind = `+taskKind+` AND d.day = ANY($4::date[])
		JOIN use_rates r ON r.id = d.rate GROUP BY 1, 2, 3, 4, 5, 6`, append(taskKeys(tasks), week)...)
	if err != nil {
		return nil, nil, err
	}
	used := make(map[Task][]Priced, len(tasks))
	var t Task
	var p Priced
	_, err = pgx.ForEachRow(rows, []any{&t.Project, &t.Domain, &t.Name, &p.Rate.Cluster, &p.Rate.Queue, &p.Rate.Accelerator, &p.Use.CPU, &p.Use.Memory, &p.Use.GPU}, func() error {
		used[t] = append(used[t], p)
		return nil
	})
	return days, used, err
}

// Refresh makes up to limit rows again that are of an earlier day or by other prices. It returns how many.
func (s *Store) Refresh(ctx context.Context, limit int, today time.Time, prices Prices, sums Sums) (changed int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			(SELECT project, domain, task FROM task_health WHERE as_of < $1 LIMIT $3) UNION
			(SELECT project, domain, task FROM task_health WHERE as_of = $1 AND prices < $2 LIMIT $3)`, today, prices.ID, limit)
		if err != nil {
			return err
		}
		tasks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Task, err error) {
			return t, row.Scan(&t.Project, &t.Domain, &t.Name)
		})
		if err != nil {
			return err
		}
		changed = len(tasks)
		return saveHealth(ctx, tx, tasks, nil, today, prices, sums)
	})
	if err != nil {
		return 0, fmt.Errorf("bring the health of tasks up to date: %w", err)
	}
	return changed, nil
}

// Sweep deletes up to limit days of each roll-up from before a day, and as many tasks that have not run since. It reports whether there
// may be more.
func (s *Store) Sweep(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	for table, column := range map[string]string{"task_days": "day", "use_days": "day", "task_health": "last_at"} {
		tag, err := s.pool.Exec(ctx, fmt.Sprintf(`DELETE FROM %[1]s WHERE ctid = ANY(ARRAY(SELECT ctid FROM %[1]s WHERE %[2]s < $1 LIMIT $2))`, table, column), before, limit)
		if err != nil {
			return false, fmt.Errorf("delete old roll-ups: %w", err)
		}
		more = more || tag.RowsAffected() == int64(limit)
	}
	return more, nil
}
