package lists

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// RunBirth has the base values for the numbers and times of a run's actions.
type RunBirth struct {
	RunID     int64
	CreatedAt time.Time
}

// RunBirth finds a run. It returns NotFound when the run does not exist.
func (r *Reader) RunBirth(ctx context.Context, run ident.Run) (RunBirth, error) {
	const query = `SELECT id, created_at FROM actions WHERE project = $1 AND domain = $2 AND run_name = $3 AND parent_name IS NULL`
	var birth RunBirth
	err := r.pool.QueryRow(ctx, query, run.Project, run.Domain, run.Name).Scan(&birth.RunID, &birth.CreatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return birth, rpc.NotFound("run %s does not exist", run)
	}
	if err != nil {
		return birth, fmt.Errorf("find run %s: %w", run, err)
	}
	return birth, nil
}
