package queries

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Replicas runs a read on a standby that has everything that was committed before, or on the primary; pgdb.Replicas is one.
type Replicas interface {
	Read(ctx context.Context, read func(context.Context, *pgxpool.Pool) error) error
}

// ReplicaReader answers queries from standbys.
type ReplicaReader struct{ Replicas Replicas }

// Find is Reader.Find.
func (r ReplicaReader) Find(ctx context.Context, ask Ask) (page *Page, err error) {
	err = r.Replicas.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) (err error) {
		page, err = NewReader(pool).Find(ctx, ask)
		return err
	})
	return page, err
}

// Count is Reader.Count.
func (r ReplicaReader) Count(ctx context.Context, ask Ask, most int) (count int, more bool, err error) {
	err = r.Replicas.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) (err error) {
		count, more, err = NewReader(pool).Count(ctx, ask, most)
		return err
	})
	return count, more, err
}

// Suggest is Reader.Suggest.
func (r ReplicaReader) Suggest(ctx context.Context, scope schema.Scope, key query.Key, part string, limit int) (values []string, err error) {
	err = r.Replicas.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) (err error) {
		values, err = NewReader(pool).Suggest(ctx, scope, key, part, limit)
		return err
	})
	return values, err
}
