package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// Delete deletes a version with everything that belongs to it, and reports whether there was one. A name without
// versions goes, too, unless it was declared.
func (s *Store) Delete(ctx context.Context, key VersionKey) (deleted bool, err error) {
	err = pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		name, err := nameID(ctx, tx, key.Name, "FOR UPDATE")
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var partition []byte
		err = tx.QueryRow(ctx, `DELETE FROM artifact_versions WHERE name_id = $1 AND version = $2 RETURNING partition`, name, key.Version).Scan(&partition)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		deleted = true
		return recount(ctx, tx, name, partition)
	})
	if err != nil {
		return false, fmt.Errorf("delete artifact: %w", err)
	}
	return deleted, nil
}

// recount brings the name and the newest version of a partition up to date after a deletion.
func recount(ctx context.Context, tx pgx.Tx, name int64, partition []byte) error {
	const (
		newest = `
			UPDATE artifact_versions SET newest = true WHERE NOT newest AND id = (
				SELECT id FROM artifact_versions WHERE name_id = $1 AND partition = $2 ORDER BY created_at DESC, id DESC LIMIT 1)`
		// latest_at stays when no version is left, so that later ones have later times.
		count = `
			UPDATE artifact_names n SET versions = versions - 1,
				latest_id = (SELECT id FROM artifact_versions WHERE name_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1),
				latest_at = coalesce((SELECT created_at FROM artifact_versions WHERE name_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1), latest_at),
				latest_time_partition = (SELECT max(time_partition) FROM artifact_versions WHERE name_id = $1 AND time_partition IS NOT NULL)
			WHERE id = $1`
		drop = `DELETE FROM artifact_names WHERE id = $1 AND versions = 0 AND NOT declared`
	)
	var batch pgx.Batch
	batch.Queue(newest, name, partition)
	batch.Queue(count, name)
	batch.Queue(drop, name)
	return tx.SendBatch(ctx, &batch).Close()
}
