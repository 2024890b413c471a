package rollups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Sum is what was used on a day under a name.
type Sum struct {
	schema.Scope
	Name    string
	Day     time.Time // zero for a sum over days
	Actions int64
	Priced
	Measured Measured
}

// SumDays reads what was used from a day to another in a place, or in all places of the call, by place, day and rate.
func (s *Store) SumDays(ctx context.Context, scope schema.Scope, from, to time.Time) ([]Sum, error) {
	b := listquery.Builder{}
	within(ctx, &b, scope)
	b.Where("d.kind = " + placeKind)
	b.Where("d.day BETWEEN " + b.Arg(from, "date") + " AND " + b.Arg(to, "date"))
	return s.sums(ctx, `SELECT d.project, d.domain, '', d.day, d.actions::bigint, r.cluster, r.queue, r.accelerator, d.cpu, d.memory, d.gpu,
			d.used_cpu, d.used_cpu_of, d.used_memory, d.used_memory_of
		FROM use_days d JOIN use_rates r ON r.id = d.rate WHERE `+b.Conditions(), b.Args())
}

// SumNames reads what was used from a day to another in a place, by name of a kind and rate.
func (s *Store) SumNames(ctx context.Context, scope schema.Scope, kind Kind, from, to time.Time) ([]Sum, error) {
	b := listquery.Builder{}
	within(ctx, &b, scope)
	b.Where("d.kind = " + b.Arg(int16(kind), "smallint"))
	b.Where("d.day BETWEEN " + b.Arg(from, "date") + " AND " + b.Arg(to, "date"))
	return s.sums(ctx, `SELECT u.project, u.domain, u.name, NULL::date, u.actions, r.cluster, r.queue, r.accelerator, u.cpu, u.memory, u.gpu,
			u.used_cpu, u.used_cpu_of, u.used_memory, u.used_memory_of FROM (
			SELECT d.project, d.domain, d.name, d.rate, sum(d.actions)::bigint AS actions, sum(d.cpu)::bigint AS cpu, sum(d.memory)::bigint AS memory, sum(d.gpu)::bigint AS gpu,
				sum(d.used_cpu)::bigint AS used_cpu, sum(d.used_cpu_of)::bigint AS used_cpu_of,
				sum(d.used_memory)::bigint AS used_memory, sum(d.used_memory_of)::bigint AS used_memory_of
			FROM use_days d WHERE `+b.Conditions()+` GROUP BY 1, 2, 3, 4) u JOIN use_rates r ON r.id = u.rate`, b.Args())
}

func within(ctx context.Context, b *listquery.Builder, scope schema.Scope) {
	if scope.Project != "" {
		b.Equal("d.project", scope.Project)
		b.Equal("d.domain", scope.Domain)
	}
	listquery.Narrow(ctx, b, "d.project", "d.domain")
}

func (s *Store) sums(ctx context.Context, sql string, args []any) ([]Sum, error) {
	rows, err := s.pool.Query(ctx, sql, sqltext.WithPlan(args)...)
	if err != nil {
		return nil, fmt.Errorf("sum what was used: %w", err)
	}
	sums, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (one Sum, err error) {
		var day *time.Time
		err = row.Scan(append([]any{
			&one.Project, &one.Domain, &one.Name, &day, &one.Actions, &one.Rate.Cluster, &one.Rate.Queue, &one.Rate.Accelerator,
			&one.Use.CPU, &one.Use.Memory, &one.Use.GPU,
		}, one.Measured.targets()...)...)
		if day != nil {
			one.Day = *day
		}
		return one, err
	})
	if err != nil {
		return nil, fmt.Errorf("sum what was used: %w", err)
	}
	return sums, nil
}

// UsedRun is what a run used.
type UsedRun struct {
	schema.Scope
	Name, Task string
	Created    time.Time
	Used       []Priced
	Measured   Measured
}

// TopRuns reads the runs of a place with the most weight of those that were created from a day to another. Of each day it reads as many
// as it returns.
func (s *Store) TopRuns(ctx context.Context, scope schema.Scope, from, to time.Time, limit int) ([]UsedRun, error) {
	if !listquery.Sees(ctx, scope.Project, scope.Domain) {
		return nil, nil
	}
	return s.usedRuns(ctx, `SELECT r.id, r.project, r.domain, r.run_name, r.task_name, r.created_at FROM (
			SELECT top.run_id, top.weight FROM generate_series($3::date, $4::date, interval '1 day') AS days (day), LATERAL (
				SELECT u.run_id, u.weight FROM run_use u WHERE u.project = $1 AND u.domain = $2 AND u.day = days.day::date
				ORDER BY u.weight DESC, u.run_id DESC LIMIT $5) top
			ORDER BY top.weight DESC, top.run_id DESC LIMIT $5) best
		JOIN actions r ON r.id = best.run_id ORDER BY best.weight DESC, r.id DESC`, sqltext.Planned, scope.Project, scope.Domain, from, to, limit)
}

// UsedBy reads what a run used; NotFound if it does not exist. Before are up to limit runs of the same root task that were created before it and succeeded.
func (s *Store) UsedBy(ctx context.Context, run ident.Run, limit int) (one UsedRun, before []UsedRun, err error) {
	var id int64
	err = s.pool.QueryRow(ctx, `SELECT id, task_name, created_at FROM actions WHERE project = $1 AND domain = $2 AND run_name = $3 AND parent_name IS NULL`,
		run.Project, run.Domain, run.Name).Scan(&id, &one.Task, &one.Created)
	if errors.Is(err, pgx.ErrNoRows) {
		return one, nil, rpc.NotFound("run %s does not exist", run)
	}
	if err != nil {
		return one, nil, fmt.Errorf("find run %s: %w", run, err)
	}
	found, err := s.usedRuns(ctx, `SELECT r.id, r.project, r.domain, r.run_name, r.task_name, r.created_at FROM actions r WHERE r.id = $1`, id)
	if err != nil {
		return one, nil, err
	}
	if len(found) > 0 {
		one = found[0]
	}
	before, err = s.usedRuns(ctx, `SELECT id, project, domain, run_name, task_name, created_at FROM (
			SELECT a.id, a.project, a.domain, a.run_name, a.task_name, a.created_at, a.phase FROM actions a
			WHERE a.parent_name IS NULL AND a.project = $1 AND a.domain = $2 AND a.task_name = $3 AND (a.created_at, a.id) < ($4, $5)
			ORDER BY a.created_at DESC, a.id DESC LIMIT 200) latest
		WHERE phase IN `+sqltext.GoodPhases+` ORDER BY created_at DESC, id DESC LIMIT $6`, run.Project, run.Domain, one.Task, one.Created, id, limit)
	return one, before, err
}

// usedRuns reads what runs used. The statement returns the fields of UsedRun after the id. Runs of which nothing is counted are left out.
func (s *Store) usedRuns(ctx context.Context, sql string, args ...any) ([]UsedRun, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read what runs used: %w", err)
	}
	var ids []int64
	var all []UsedRun
	var id int64
	var r UsedRun
	if _, err := pgx.ForEachRow(rows, []any{&id, &r.Project, &r.Domain, &r.Name, &r.Task, &r.Created}, func() error {
		ids, all = append(ids, id), append(all, r)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read what runs used: %w", err)
	}
	rates, err := allRates(ctx, s.pool)
	if err != nil {
		return nil, fmt.Errorf("read rates: %w", err)
	}
	if rows, err = s.pool.Query(ctx, `SELECT `+storedColumns+` FROM run_use WHERE run_id = ANY($1)`, ids); err != nil {
		return nil, fmt.Errorf("read what runs used: %w", err)
	}
	used, err := pgx.CollectRows(rows, scanStored)
	if err != nil {
		return nil, fmt.Errorf("read what runs used: %w", err)
	}
	byRun := make(map[int64]*stored, len(used))
	for i := range used {
		byRun[used[i].runID] = &used[i]
	}
	found := all[:0]
	for i := range all {
		if one := byRun[ids[i]]; one != nil {
			all[i].Used, all[i].Measured = one.priced(rates), one.measured
			found = append(found, all[i])
		}
	}
	return found, nil
}
