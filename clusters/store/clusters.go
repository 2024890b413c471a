package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// Cluster is a registered cluster.
type Cluster struct {
	Name, CreatedBy string
	CreatedAt       time.Time
	// Credentials are filled by List, oldest first.
	Credentials []Credential
}

// announce tells all processes that clusters or credentials changed.
const announce = `SELECT pg_notify('` + Channel + `', '')`

// change makes a change in one transaction, with the record of the call, and announces it.
func (s *Store) change(ctx context.Context, what string, do func(tx pgx.Tx) error) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, announce)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Add stores a cluster with its first credential. It fails with ErrExists, except for a cluster that registered itself.
func (s *Store) Add(ctx context.Context, c Cluster, first Credential, hash []byte) error {
	return s.change(ctx, "add cluster "+c.Name, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `INSERT INTO clusters (name, created_by, created_at) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET created_by = excluded.created_by, created_at = excluded.created_at WHERE clusters.created_by = ''`,
			c.Name, c.CreatedBy, c.CreatedAt)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return ErrExists
		}
		if _, err := tx.Exec(ctx, `DELETE FROM cluster_removals WHERE name = $1`, c.Name); err != nil {
			return err
		}
		if err := note(ctx, tx, c.Name, Event{Kind: EventAdded, At: c.CreatedAt, Subject: c.CreatedBy}); err != nil {
			return err
		}
		return insert(ctx, tx, first, hash)
	})
}

// Remove deletes a cluster and its credentials. It fails with ErrNone.
func (s *Store) Remove(ctx context.Context, name string) error {
	return s.change(ctx, "remove cluster "+name, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, `DELETE FROM clusters WHERE name = $1`, name)
		if err == nil && done.RowsAffected() == 0 {
			return ErrNone
		}
		return err
	})
}

// Get reads a cluster with its credentials except those that were revoked before a time. It fails with ErrNone.
func (s *Store) Get(ctx context.Context, name string, revokedAfter time.Time) (Cluster, error) {
	found, err := s.read(ctx, revokedAfter, `WHERE name = $1`, name)
	if err == nil && len(found) == 0 {
		err = ErrNone
	}
	if err != nil {
		return Cluster{}, err
	}
	return found[0], nil
}

// List reads clusters in alphabetical order, those after a name, with their credentials except those that were revoked before a time.
func (s *Store) List(ctx context.Context, after string, limit int, revokedAfter time.Time) ([]Cluster, error) {
	return s.read(ctx, revokedAfter, `WHERE name > $1 ORDER BY name LIMIT $2`, after, limit)
}

func (s *Store) read(ctx context.Context, revokedAfter time.Time, which string, args ...any) ([]Cluster, error) {
	rows, err := s.pool.Query(ctx, `SELECT name, created_by, created_at FROM clusters `+which, args...)
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	index := map[string]int{}
	clusters, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Cluster, err error) {
		err = row.Scan(&c.Name, &c.CreatedBy, &c.CreatedAt)
		index[c.Name] = len(index)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	names := make([]string, len(clusters))
	for name, i := range index {
		names[i] = name
	}
	credentials, err := s.credentials(ctx, `cluster = ANY($1) AND (revoked_at IS NULL OR revoked_at > $2) ORDER BY created_at, id`, names, revokedAfter)
	if err != nil {
		return nil, err
	}
	for _, credential := range credentials {
		of := &clusters[index[credential.Cluster]]
		of.Credentials = append(of.Credentials, credential)
	}
	return clusters, nil
}
