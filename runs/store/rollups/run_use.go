package rollups

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// RunUse is what the ended actions of a run used.
type RunUse struct {
	RunID int64
	schema.Scope
	Created  time.Time
	Used     []Priced
	Measured Measured
}

// stored is what a run has used by rate.
type stored struct {
	runID            int64
	rates            []int32
	cpu, memory, gpu []int64
	measured         Measured
}

const storedColumns = `run_id, rates, cpu, memory, gpu, ` + measuredColumns

func (s *stored) add(rate int32, use Use) {
	for i := range s.rates {
		if s.rates[i] == rate {
			s.cpu[i], s.memory[i], s.gpu[i] = s.cpu[i]+use.CPU, s.memory[i]+use.Memory, s.gpu[i]+use.GPU
			return
		}
	}
	s.rates, s.cpu, s.memory, s.gpu = append(s.rates, rate), append(s.cpu, use.CPU), append(s.memory, use.Memory), append(s.gpu, use.GPU)
}

// priced is the same with rates in words. Rates are in the database before use of them is.
func (s *stored) priced(rates map[int32]Rate) []Priced {
	used := make([]Priced, len(s.rates))
	for i, rate := range s.rates {
		used[i] = Priced{rates[rate], Use{s.cpu[i], s.memory[i], s.gpu[i]}}
	}
	return used
}

func scanStored(row pgx.CollectableRow) (s stored, err error) {
	return s, row.Scan(append([]any{&s.runID, &s.rates, &s.cpu, &s.memory, &s.gpu}, s.measured.targets()...)...)
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// allRates are the rates by id. There are as many as combinations of clusters, queues and accelerators that were used.
func allRates(ctx context.Context, q querier) (map[int32]Rate, error) {
	rows, err := q.Query(ctx, `SELECT id, cluster, queue, accelerator FROM use_rates`)
	if err != nil {
		return nil, err
	}
	rates := map[int32]Rate{}
	var id int32
	var rate Rate
	_, err = pgx.ForEachRow(rows, []any{&id, &rate.Cluster, &rate.Queue, &rate.Accelerator}, func() error {
		rates[id] = rate
		return nil
	})
	return rates, err
}

// saveRuns adds to what runs used.
func saveRuns(ctx context.Context, tx pgx.Tx, runs []RunUse, ids map[Rate]int32, prices Prices) error {
	if len(runs) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `SELECT `+storedColumns+` FROM run_use WHERE run_id = ANY($1)`, sqltext.Column(runs, func(r RunUse) int64 { return r.RunID }))
	if err != nil {
		return err
	}
	had, err := pgx.CollectRows(rows, scanStored)
	if err != nil {
		return err
	}
	before := make(map[int64]*stored, len(had))
	for i := range had {
		before[had[i].runID] = &had[i]
	}
	rates, err := allRates(ctx, tx)
	if err != nil {
		return err
	}
	var statements pgx.Batch
	for _, run := range runs {
		sum := before[run.RunID]
		if sum == nil {
			sum = &stored{runID: run.RunID}
		}
		for _, used := range run.Used {
			sum.add(ids[used.Rate], used.Use)
		}
		sum.measured = sum.measured.Plus(run.Measured)
		statements.Queue(`INSERT INTO run_use (project, domain, day, weight, prices, `+storedColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (run_id) DO UPDATE SET rates = EXCLUDED.rates, cpu = EXCLUDED.cpu, memory = EXCLUDED.memory, gpu = EXCLUDED.gpu,
				weight = EXCLUDED.weight, prices = EXCLUDED.prices, used_cpu = EXCLUDED.used_cpu, used_cpu_of = EXCLUDED.used_cpu_of,
				used_memory = EXCLUDED.used_memory, used_memory_of = EXCLUDED.used_memory_of`,
			run.Project, run.Domain, Day(run.Created), prices.Weigh(sum.priced(rates)), prices.ID, run.RunID, sum.rates, sum.cpu, sum.memory, sum.gpu,
			sum.measured.CPU.Used, sum.measured.CPU.Of, sum.measured.Memory.Used, sum.measured.Memory.Of)
	}
	return tx.SendBatch(ctx, &statements).Close()
}

// Reprice weighs up to limit runs again that other prices weighed. It returns how many.
func (s *Store) Reprice(ctx context.Context, limit int, prices Prices) (changed int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+storedColumns+` FROM run_use WHERE prices < $1 LIMIT $2 FOR UPDATE`, prices.ID, limit)
		if err != nil {
			return err
		}
		old, err := pgx.CollectRows(rows, scanStored)
		if err != nil {
			return err
		}
		rates, err := allRates(ctx, tx)
		if err != nil {
			return err
		}
		changed = len(old)
		_, err = tx.Exec(ctx, `UPDATE run_use r SET weight = u.weight, prices = $3 FROM unnest($1::bigint[], $2::bigint[]) AS u (id, weight) WHERE r.run_id = u.id`,
			sqltext.Column(old, func(s stored) int64 { return s.runID }), sqltext.Column(old, func(s stored) int64 { return prices.Weigh(s.priced(rates)) }), prices.ID)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("weigh runs by new prices: %w", err)
	}
	return changed, nil
}
