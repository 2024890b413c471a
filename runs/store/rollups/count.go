package rollups

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// Counts are what a batch of ends adds to the roll-ups.
type Counts struct {
	Days  []TaskDay
	Runs  []RunUse
	Tasks []RunTask
	Uses  []UseDay
	// Outcomes are by task, the oldest first.
	Outcomes map[Task][]Outcome
}

// Sums derives what depends on how roll-ups are encoded.
type Sums interface {
	// Count sorts ends into counts.
	Count(ctx context.Context, ended []Ended) (*Counts, error)
	// Merge adds histograms.
	Merge(a, b []byte) ([]byte, error)
	// Health derives how a task does from the days of two weeks, as of a day.
	Health(today time.Time, days []TaskDay, used []Priced, row *Health) error
	// Append adds outcomes to the last ones.
	Append(outcomes []byte, more []Outcome) []byte
}

// Count takes up to limit ends from the list and counts them, all in one transaction. It leaves those of actions that an executor ran and
// that ended after a time. It returns how many it took.
func (s *Store) Count(ctx context.Context, limit int, until, today time.Time, prices Prices, sums Sums) (taken int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		ids, err := take(ctx, tx, limit, until)
		if err != nil || len(ids) == 0 {
			return err
		}
		taken = len(ids)
		ended, err := readEnded(ctx, tx, ids)
		if err != nil || len(ended) == 0 {
			return err
		}
		counts, err := sums.Count(ctx, ended)
		if err != nil {
			return err
		}
		if err := save(ctx, tx, counts, today, prices, sums); err != nil {
			return err
		}
		failpoint.Here("rollups.before-commit")
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count ended actions: %w", err)
	}
	failpoint.Here("rollups.after-commit")
	return taken, nil
}

func save(ctx context.Context, tx pgx.Tx, counts *Counts, today time.Time, prices Prices, sums Sums) error {
	rates, err := rateIDs(ctx, tx, counts)
	if err != nil {
		return err
	}
	if err := saveDays(ctx, tx, counts.Days, sums); err != nil {
		return err
	}
	if err := saveUses(ctx, tx, counts.Uses, rates); err != nil {
		return err
	}
	if err := saveRuns(ctx, tx, counts.Runs, rates, prices); err != nil {
		return err
	}
	if err := saveRunTasks(ctx, tx, counts.Tasks); err != nil {
		return err
	}
	tasks := make([]Task, 0, len(counts.Outcomes))
	for task := range counts.Outcomes {
		tasks = append(tasks, task)
	}
	return saveHealth(ctx, tx, tasks, counts.Outcomes, today, prices, sums)
}

// rateIDs are the ids of all rates of a batch, which it creates if they are new.
func rateIDs(ctx context.Context, tx pgx.Tx, counts *Counts) (map[Rate]int32, error) {
	ids := map[Rate]int32{}
	for _, use := range counts.Uses {
		ids[use.Rate] = 0
	}
	if len(ids) == 0 {
		return ids, nil
	}
	var clusters, queues, accelerators []string
	for rate := range ids {
		clusters, queues, accelerators = append(clusters, rate.Cluster), append(queues, rate.Queue), append(accelerators, rate.Accelerator)
	}
	if _, err := tx.Exec(ctx, `
		INSERT INTO use_rates (cluster, queue, accelerator) SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS u (c, q, a)
		WHERE NOT EXISTS (SELECT FROM use_rates r WHERE (r.cluster, r.queue, r.accelerator) = (u.c, u.q, u.a))`, clusters, queues, accelerators); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `
		SELECT r.id, r.cluster, r.queue, r.accelerator FROM use_rates r JOIN unnest($1::text[], $2::text[], $3::text[]) AS u (c, q, a)
			ON (r.cluster, r.queue, r.accelerator) = (u.c, u.q, u.a)`, clusters, queues, accelerators)
	if err != nil {
		return nil, err
	}
	var id int32
	var rate Rate
	_, err = pgx.ForEachRow(rows, []any{&id, &rate.Cluster, &rate.Queue, &rate.Accelerator}, func() error {
		ids[rate] = id
		return nil
	})
	return ids, err
}
