package lists

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const (
	// maxFolds is how many triggers of a place are folded, foldedRuns how many of the latest runs of each are looked at.
	maxFolds   = 300
	foldedRuns = 100
)

// Fold is the runs of one trigger that match a list, among its latest ones.
type Fold struct {
	// Latest is the newest that matches.
	Latest Listed
	// Counts is how many match, by phase.
	Counts []int32
	// Older says that the trigger has runs that were not looked at.
	Older bool
}

// triggersOfPlace skips from trigger to trigger, so it reads one entry of the index for each. folded counts their latest runs. With an
// equality instead of BETWEEN, a planner without statistics reads the runs of a trigger through the index of all runs by time.
const (
	triggersOfPlace = `
		WITH RECURSIVE triggers AS (
			(SELECT a.trigger_name, a.trigger_task_name FROM actions a
			WHERE a.project = $1 AND a.domain = $2 AND a.trigger_name > '' AND a.parent_name IS NULL
			ORDER BY a.trigger_name, a.trigger_task_name LIMIT 1)
			UNION ALL
			SELECT n.trigger_name, n.trigger_task_name FROM triggers t CROSS JOIN LATERAL (
				SELECT a.trigger_name, a.trigger_task_name FROM actions a
				WHERE a.project = $1 AND a.domain = $2 AND a.parent_name IS NULL
					AND (a.trigger_name, a.trigger_task_name) > (t.trigger_name, t.trigger_task_name)
				ORDER BY a.trigger_name, a.trigger_task_name LIMIT 1) AS n)
		SELECT trigger_name, trigger_task_name FROM triggers LIMIT %d`
	folded = `
		SELECT k.n, a.phase, count(*) FILTER (WHERE %[1]s), count(*),
			(array_agg(a.id ORDER BY a.created_at DESC, a.id DESC) FILTER (WHERE %[1]s))[1],
			max(a.created_at) FILTER (WHERE %[1]s)
		FROM unnest(%[2]s, %[3]s) WITH ORDINALITY AS k (name, task, n) CROSS JOIN LATERAL (
			SELECT * FROM actions l WHERE l.project = %[4]s AND l.domain = %[5]s AND l.parent_name IS NULL
				AND l.trigger_name BETWEEN k.name AND k.name AND l.trigger_task_name BETWEEN k.task AND k.task
			ORDER BY l.trigger_name DESC, l.trigger_task_name DESC, l.created_at DESC, l.id DESC LIMIT %[6]d) AS a
		GROUP BY k.n, a.phase`
	foldedRoots = `SELECT ` + ListedColumns + `, a.labels, ARRAY[]::text[] FROM actions a WHERE a.id = ANY($1)`
)

// RunFolds folds the runs of a place that match filters by their triggers, the trigger with the newest run first. more, which may be nil,
// is a further condition on actions a, written with parameters of the builder. complete is false if the place has more triggers than are
// folded.
func (r *Reader) RunFolds(
	ctx context.Context, place schema.Scope, filters []*common.Filter, more func(*listquery.Builder) string,
) (folds []Fold, complete bool, err error) {
	var b listquery.Builder
	if err := RunFields.Filter(&b, filters); err != nil {
		return nil, false, err
	}
	if more != nil {
		b.Where(more(&b))
	}
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqltext.Planning); err != nil {
			return err
		}
		names, tasks, err := triggersOf(ctx, tx, place)
		if complete = len(names) <= maxFolds; err != nil || len(names) == 0 {
			return err
		}
		names, tasks = names[:min(len(names), maxFolds)], tasks[:min(len(tasks), maxFolds)]
		folds, err = readFolds(ctx, tx, place, b, names, tasks)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("fold runs: %w", err)
	}
	return folds, complete, nil
}

func triggersOf(ctx context.Context, tx pgx.Tx, place schema.Scope) (names, tasks []string, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(triggersOfPlace, maxFolds+1), sqltext.Planned, place.Project, place.Domain)
	if err != nil {
		return nil, nil, err
	}
	var name, task string
	_, err = pgx.ForEachRow(rows, []any{&name, &task}, func() error {
		names, tasks = append(names, name), append(tasks, task)
		return nil
	})
	return names, tasks, err
}

func readFolds(ctx context.Context, tx pgx.Tx, place schema.Scope, b listquery.Builder, names, tasks []string) ([]Fold, error) {
	conditions := b.Conditions()
	sql := fmt.Sprintf(folded, conditions, b.Arg(names, "text[]"), b.Arg(tasks, "text[]"), b.Arg(place.Project, "text"), b.Arg(place.Domain, "text"), foldedRuns)
	rows, err := tx.Query(ctx, sql, sqltext.WithPlan(b.Args())...)
	if err != nil {
		return nil, err
	}
	type part struct {
		Fold
		looked int
		newest *int64
	}
	parts := make([]part, len(names))
	ids := []int64{}
	var n, phase, matched, looked int
	var newest *int64
	var at *time.Time
	latest := make([]time.Time, len(names))
	_, err = pgx.ForEachRow(rows, []any{&n, &phase, &matched, &looked, &newest, &at}, func() error {
		p := &parts[n-1]
		if p.Counts == nil {
			p.Counts = make([]int32, schema.Phases)
		}
		p.Counts[phase] += int32(matched) //nolint:gosec // at most foldedRuns
		p.looked += looked
		if at != nil && (p.newest == nil || at.After(latest[n-1]) || at.Equal(latest[n-1]) && *newest > *p.newest) {
			p.newest, latest[n-1] = newest, *at
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.newest == nil })
	for i := range parts {
		parts[i].Older = parts[i].looked == foldedRuns
		ids = append(ids, *parts[i].newest)
	}
	roots, err := foldedRootsByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	folds := make([]Fold, 0, len(parts))
	for i := range parts {
		parts[i].Latest = roots[*parts[i].newest]
		folds = append(folds, parts[i].Fold)
	}
	slices.SortFunc(folds, func(a, b Fold) int {
		if c := b.Latest.CreatedAt.Compare(a.Latest.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.Latest.TriggerName, b.Latest.TriggerName)
	})
	return folds, nil
}

func foldedRootsByID(ctx context.Context, tx pgx.Tx, ids []int64) (map[int64]Listed, error) {
	rows, err := tx.Query(ctx, foldedRoots, ids)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, scanListedWith(func(l *Listed) any { return &l.Labels }))
	if err != nil {
		return nil, err
	}
	roots := make(map[int64]Listed, len(found))
	for _, root := range found {
		roots[root.ID] = root
	}
	return roots, nil
}
