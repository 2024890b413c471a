package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// refusedFor is how long a refusal counts. A controller tries again within 10 s.
const refusedFor = time.Minute

// Refuse records that a controller was refused because of its version. It returns true if that was not known, or the cluster is not
// registered.
func (s *Store) Refuse(ctx context.Context, cluster, version string) (news bool, err error) {
	err = s.pool.QueryRow(ctx, `WITH before AS (SELECT name, refused_version, refused_at FROM clusters WHERE name = $1 FOR UPDATE)
		UPDATE clusters c SET refused_version = $2, refused_at = now() FROM before b WHERE c.name = b.name
		RETURNING b.refused_version <> $2 OR b.refused_at IS NULL OR b.refused_at < now() - $3::interval`, cluster, version, refusedFor).Scan(&news)
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("record that a controller of cluster %s was refused: %w", cluster, err)
	}
	return news, nil
}
