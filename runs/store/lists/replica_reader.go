package lists

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Replicas runs a read on a standby that has everything that was committed before, or on the primary; pgdb.Replicas is one.
type Replicas interface {
	Read(ctx context.Context, read func(context.Context, *pgxpool.Pool) error) error
}

// ReplicaReader is a Reader whose costly reads of many rows go to standbys. Details of one run or action stay on the primary:
// there they cost less than the question how far a standby is.
type ReplicaReader struct {
	*Reader
	replicas Replicas
}

// NewReplicaReader returns a reader that falls back to another one.
func NewReplicaReader(primary *Reader, replicas Replicas) *ReplicaReader {
	return &ReplicaReader{Reader: primary, replicas: replicas}
}

// ListRuns is Reader.ListRuns.
func (r *ReplicaReader) ListRuns(ctx context.Context, scope RunScope, request *common.ListRequest) (rows []Listed, token string, err error) {
	err = r.replicas.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) (err error) {
		rows, token, err = NewReader(pool).ListRuns(ctx, scope, request)
		return err
	})
	return rows, token, err
}

// ListActions is Reader.ListActions.
func (r *ReplicaReader) ListActions(ctx context.Context, run ident.Run, request *common.ListRequest) (rows []Listed, token string, err error) {
	err = r.replicas.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) (err error) {
		rows, token, err = NewReader(pool).ListActions(ctx, run, request)
		return err
	})
	return rows, token, err
}

// Activity is Reader.Activity.
func (r *ReplicaReader) Activity(ctx context.Context, spans Spans) (parts []ActivityPart, unfinished []UnfinishedRuns, err error) {
	err = r.replicas.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) (err error) {
		parts, unfinished, err = NewReader(pool).Activity(ctx, spans)
		return err
	})
	return parts, unfinished, err
}

// TaskHistory is Reader.TaskHistory.
func (r *ReplicaReader) TaskHistory(ctx context.Context, task TaskName, spans Spans) (parts []HistoryPart, err error) {
	err = r.replicas.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) (err error) {
		parts, err = NewReader(pool).TaskHistory(ctx, task, spans)
		return err
	})
	return parts, err
}
