package watches

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Reader has the reads of watches. Each uses an index and bounds its rows.
type Reader struct {
	pool *pgxpool.Pool
}

// NewReader returns a reader on a pool that the caller owns.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Located is the starting point of a watch of one action.
type Located struct {
	RunID    int64 // id of the root row
	ActionID int64
	Phase    int16
	Attempt  int32
	// LastSeq is the last event of the whole run at the time of the read.
	LastSeq int64
	// OutputBase is the directory for the outputs of the run's attempts.
	OutputBase string
	// RunCreatedAt is when the run was created.
	RunCreatedAt time.Time
}

// Locate finds an action by name. It returns NotFound when the action does not exist.
func (w *Reader) Locate(ctx context.Context, id ident.Action) (Located, error) {
	const query = `
		SELECT r.id, a.id, a.phase, a.attempt, r.last_seq, r.run_output_base, r.created_at
		FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4
		WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL`
	var at Located
	err := w.pool.QueryRow(ctx, query, id.Run.Project, id.Run.Domain, id.Run.Name, id.Name).
		Scan(&at.RunID, &at.ActionID, &at.Phase, &at.Attempt, &at.LastSeq, &at.OutputBase, &at.RunCreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return Located{}, rpc.NotFound("action %s does not exist", id)
	}
	if err != nil {
		return Located{}, fmt.Errorf("locate action %s: %w", id, err)
	}
	return at, nil
}

// LocateRun finds the root action of a run.
func (w *Reader) LocateRun(ctx context.Context, id ident.Run) (Located, error) {
	const query = `
		SELECT id, id, phase, attempt, last_seq, run_output_base, created_at FROM actions
		WHERE project = $1 AND domain = $2 AND run_name = $3 AND parent_name IS NULL`
	var at Located
	err := w.pool.QueryRow(ctx, query, id.Project, id.Domain, id.Name).
		Scan(&at.RunID, &at.ActionID, &at.Phase, &at.Attempt, &at.LastSeq, &at.OutputBase, &at.RunCreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return Located{}, rpc.NotFound("run %s does not exist", id)
	}
	if err != nil {
		return Located{}, fmt.Errorf("locate run %s: %w", id, err)
	}
	return at, nil
}

// LastSeqs reads the last event of the logs of some runs.
func (w *Reader) LastSeqs(ctx context.Context, runIDs []int64) (map[int64]int64, error) {
	rows, err := w.pool.Query(ctx, `SELECT id, last_seq FROM actions WHERE id = ANY($1)`, runIDs)
	if err != nil {
		return nil, fmt.Errorf("read last events of runs: %w", err)
	}
	seqs := make(map[int64]int64, len(runIDs))
	var id, seq int64
	_, err = pgx.ForEachRow(rows, []any{&id, &seq}, func() error {
		seqs[id] = seq
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read last events of runs: %w", err)
	}
	return seqs, nil
}

// watchedColumns are the columns of a list and those that say how the action ended.
const watchedColumns = lists.ListedColumns + `, a.output_uri, a.error, a.signal, s.body`

// conditionSpecs joins the specs of conditions, which are small and carry the type that clients show.
const conditionSpecs = ` LEFT JOIN specs s ON a.action_type = ` + sqltext.Condition + ` AND s.digest = a.spec_digest `

func watchedTargets(l *lists.Listed) []any {
	return append(lists.ListedTargets(&l.Action), &l.OutputURI, &l.Error, &l.Signal, &l.Condition)
}

// ActionKey is a position in the listing order of a run's actions. The zero value is before the first.
type ActionKey struct {
	CreatedAt time.Time
	ID        int64
}
