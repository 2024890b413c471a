package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// MaxCredentials is how many valid credentials a cluster has at most: enough to change from one to another, and few enough to know
// who has them.
const MaxCredentials = 5

// Credential is a credential of a cluster's controller. Its secret is known by its hash alone.
type Credential struct {
	ID, Cluster, Hint, CreatedBy string
	CreatedAt                    time.Time
	RevokedAt                    *time.Time
	LastUsedAt                   *time.Time
}

const columns = `id, cluster, hint, created_by, created_at, revoked_at, last_used_at`

func scan(row pgx.CollectableRow) (c Credential, err error) {
	return c, row.Scan(&c.ID, &c.Cluster, &c.Hint, &c.CreatedBy, &c.CreatedAt, &c.RevokedAt, &c.LastUsedAt)
}

func insert(ctx context.Context, tx pgx.Tx, c Credential, hash []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO cluster_credentials (id, cluster, hash, hint, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		c.ID, c.Cluster, hash, c.Hint, c.CreatedBy, c.CreatedAt)
	return err
}

// credentials reads those for which a condition holds.
func (s *Store) credentials(ctx context.Context, condition string, args ...any) ([]Credential, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+columns+` FROM cluster_credentials WHERE `+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("read credentials of clusters: %w", err)
	}
	found, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("read credentials of clusters: %w", err)
	}
	return found, nil
}

// ByHash is the credential whose secret has a hash. It fails with ErrNone.
func (s *Store) ByHash(ctx context.Context, hash []byte) (Credential, error) {
	return one(s.credentials(ctx, `hash = $1`, hash))
}

// ByID is the credential with an id. It fails with ErrNone.
func (s *Store) ByID(ctx context.Context, id string) (Credential, error) {
	return one(s.credentials(ctx, `id = $1`, id))
}

func one(found []Credential, err error) (Credential, error) {
	if err != nil {
		return Credential{}, err
	}
	if len(found) == 0 {
		return Credential{}, ErrNone
	}
	return found[0], nil
}

// Issue stores one more credential of a cluster. It fails with ErrNone without such a cluster, and with ErrTooMany.
func (s *Store) Issue(ctx context.Context, c Credential, hash []byte) error {
	return s.change(ctx, "issue a credential of cluster "+c.Cluster, func(tx pgx.Tx) error {
		// The lock makes the count that of a later statement, which sees what others have issued meanwhile.
		locked, err := tx.Exec(ctx, `SELECT FROM clusters WHERE name = $1 FOR UPDATE`, c.Cluster)
		if err != nil {
			return err
		}
		if locked.RowsAffected() == 0 {
			return ErrNone
		}
		var valid int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM cluster_credentials WHERE cluster = $1 AND revoked_at IS NULL`, c.Cluster).Scan(&valid); err != nil {
			return err
		}
		if valid >= MaxCredentials {
			return ErrTooMany
		}
		return insert(ctx, tx, c, hash)
	})
}

// Revoke ends a credential; one that has ended stays as it is. It fails with ErrNone.
func (s *Store) Revoke(ctx context.Context, id string, now time.Time) (revoked Credential, err error) {
	err = s.change(ctx, "revoke credential "+id, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `UPDATE cluster_credentials SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING `+columns, id, now)
		if err != nil {
			return err
		}
		revoked, err = pgx.CollectExactlyOneRow(rows, scan)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNone
		}
		return err
	})
	return revoked, err
}

// Used records when credentials were used last.
func (s *Store) Used(ctx context.Context, used map[string]time.Time) error {
	ids, times := make([]string, 0, len(used)), make([]time.Time, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, id), append(times, at)
	}
	_, err := s.pool.Exec(ctx, `UPDATE cluster_credentials c SET last_used_at = greatest(c.last_used_at, u.at)
		FROM unnest($1::text[], $2::timestamptz[]) AS u (id, at) WHERE c.id = u.id`, ids, times)
	if err != nil {
		return fmt.Errorf("record the use of credentials: %w", err)
	}
	return nil
}
