package rollups

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Share is what was used of what was requested, in the units of Use.
type Share struct{ Used, Of int64 }

// Plus is the sum.
func (s Share) Plus(o Share) Share { return Share{s.Used + o.Used, s.Of + o.Of} }

// Measured is what was really used while it was measured, of what was requested for that time. It has no price.
type Measured struct{ CPU, Memory Share }

// Plus is the sum.
func (m Measured) Plus(o Measured) Measured {
	return Measured{m.CPU.Plus(o.CPU), m.Memory.Plus(o.Memory)}
}

const measuredColumns = `used_cpu, used_cpu_of, used_memory, used_memory_of`

func (m *Measured) targets() []any {
	return []any{&m.CPU.Used, &m.CPU.Of, &m.Memory.Used, &m.Memory.Of}
}

// MeasuredAttempt is what is stored of an attempt that was measured.
type MeasuredAttempt struct {
	For        time.Duration // for how long its processor time counts
	CPUMs      int64
	PeakMemory int64 // bytes; 0 where memory was not measured
}

// readMeasured reads what is stored by now of the attempts of actions that executors ran.
func readMeasured(ctx context.Context, tx pgx.Tx, ended []Ended) error {
	at := make(map[int64]int, len(ended))
	var ids []int64
	for i := range ended {
		if ended[i].Action.Runner == schema.RunnerExecutor {
			at[ended[i].Action.ID] = i
			ids = append(ids, ended[i].Action.ID)
		}
	}
	rows, err := tx.Query(ctx, `
		SELECT action_id, measured_ms, cpu_ms, COALESCE(peak_memory, 0) FROM attempt_usage
		WHERE action_id = ANY($1) AND measured_ms > 0 ORDER BY action_id, attempt`, ids)
	if err != nil {
		return err
	}
	var id, measured int64
	var one MeasuredAttempt
	_, err = pgx.ForEachRow(rows, []any{&id, &measured, &one.CPUMs, &one.PeakMemory}, func() error {
		one.For = time.Duration(measured) * time.Millisecond
		of := &ended[at[id]]
		of.Measured = append(of.Measured, one)
		return nil
	})
	return err
}
