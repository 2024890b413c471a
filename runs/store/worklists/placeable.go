package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// PlacementReader reads actions for which a cluster is to be chosen.
type PlacementReader struct{ pool *pgxpool.Pool }

// NewPlacementReader returns a reader on a pool that the caller owns.
func NewPlacementReader(pool *pgxpool.Pool) *PlacementReader { return &PlacementReader{pool: pool} }

// Placeable is an action with what decides about its cluster.
type Placeable struct {
	ID, RunID       int64
	Project, Domain string
	Queue           string
	Environment     string
	Runner          schema.Runner
	SpecDigest      []byte
	RunSpecDigest   []byte
	// InputURI is where its inputs are, RunOutputBase the directory of its run.
	InputURI, RunOutputBase string
	// Parent is the cluster of its parent; empty for a root.
	Parent string
}

const placeableColumns = `a.id, a.run_id, a.project, a.domain, a.queue, a.environment_name, a.runner, a.spec_digest, r.run_spec_digest, a.input_uri, r.run_output_base,
	coalesce((SELECT p.cluster FROM actions p
		WHERE p.run_id = a.run_id AND p.name BETWEEN a.parent_name AND a.parent_name ORDER BY p.name LIMIT 1), '')`

// Placeable reads actions. Those that do not exist are left out.
func (p *PlacementReader) Placeable(ctx context.Context, ids []int64) ([]Placeable, error) {
	return p.read(ctx, `SELECT `+placeableColumns+` FROM actions a JOIN actions r ON r.id = a.run_id WHERE a.id = ANY($1) ORDER BY a.id`, ids)
}

// Held reads a page of the actions that wait for a cluster, oldest first, after a given action.
func (p *PlacementReader) Held(ctx context.Context, after int64, limit int) ([]Placeable, error) {
	return p.read(ctx, `SELECT `+placeableColumns+`
		FROM (SELECT * FROM actions WHERE hold = $1 AND hold <> `+sqltext.NoHold+` AND ended_at IS NULL AND id > $2 ORDER BY hold, id LIMIT $3) a
		JOIN actions r ON r.id = a.run_id ORDER BY a.id`, schema.HoldPlacement, after, limit)
}

func (p *PlacementReader) read(ctx context.Context, query string, args ...any) (found []Placeable, err error) {
	var statements pgx.Batch // one transaction, whose statements must use the indexes
	statements.Queue(sqltext.Planning)
	statements.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Placeable])
		return err
	})
	if err := p.pool.SendBatch(ctx, &statements).Close(); err != nil {
		return nil, fmt.Errorf("read what actions ask of clusters: %w", err)
	}
	return found, nil
}

// Placement reads why an action runs on its cluster; empty if nothing was to be decided.
func (p *PlacementReader) Placement(ctx context.Context, id int64) (reason string, err error) {
	err = p.pool.QueryRow(ctx, `SELECT coalesce((SELECT reason FROM placements WHERE action_id = $1), '')`, id).Scan(&reason)
	if err != nil {
		return "", fmt.Errorf("read why an action runs on its cluster: %w", err)
	}
	return reason, nil
}
