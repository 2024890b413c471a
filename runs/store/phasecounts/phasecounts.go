// Package phasecounts has the numbers of a run's actions by phase that the writer keeps on the root row: what a batch does to them, their
// text for Postgres, and how they are read from the rows where a version without them has written.
package phasecounts

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Tally is how many more actions of a run are in each phase after a batch.
type Tally [schema.Phases]int32

// Move counts an action that goes from one phase to another.
func (t *Tally) Move(from, to int16) {
	t[from]--
	t[to]++
}

// sender is the part of a connection that a transaction needs.
type sender interface {
	SendBatch(ctx context.Context, statements *pgx.Batch) pgx.BatchResults
}

// Read counts the rows of runs, as the transaction sees them.
func Read(ctx context.Context, tx sender, runs []int64) (map[int64][]int32, error) {
	const query = `SELECT run_id, phase, count(*) FROM actions WHERE run_id = ANY($1) GROUP BY run_id, phase`
	counts := make(map[int64][]int32, len(runs))
	for _, id := range runs {
		counts[id] = make([]int32, schema.Phases)
	}
	var statements pgx.Batch
	statements.Queue(query, runs).Query(func(rows pgx.Rows) error {
		var id int64
		var phase int16
		var n int32
		_, err := pgx.ForEachRow(rows, []any{&id, &phase, &n}, func() error {
			counts[id][phase] = n
			return nil
		})
		return err
	})
	if err := tx.SendBatch(ctx, &statements).Close(); err != nil {
		return nil, fmt.Errorf("count the actions of runs: %w", err)
	}
	return counts, nil
}

// Text is an array of Postgres as text, since arrays of arrays must have equal lengths; nil for rows without counts.
func Text(counts []int32) *string {
	if counts == nil {
		return nil
	}
	texts := make([]string, len(counts))
	for i, n := range counts {
		texts[i] = strconv.Itoa(int(n))
	}
	text := "{" + strings.Join(texts, ",") + "}"
	return &text
}
