package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// Key is an API key. Its secret is known by its hash alone.
type Key struct {
	ID, Name, Owner string
	// OwnerGroups are those of the owner when the key is made, in alphabetical order.
	OwnerGroups []string
	// Service means that the rights of the owner do not bound those of the key.
	Service bool
	// Session is that in which the key is made; empty for what is made without one. It is not stored.
	Session    string
	Hint       string
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil means never
	RevokedAt  *time.Time
	LastUsedAt *time.Time
}

// Ended reports whether the key is no longer valid.
func (k Key) Ended(now time.Time) bool {
	return k.RevokedAt != nil || k.ExpiresAt != nil && !now.Before(*k.ExpiresAt)
}

const keyColumns = `id, name, owner, hint, created_at, expires_at, revoked_at, last_used_at, service`

func scanKey(row pgx.CollectableRow) (k Key, err error) {
	return k, row.Scan(&k.ID, &k.Name, &k.Owner, &k.Hint, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &k.LastUsedAt, &k.Service)
}

// CreateKey stores a key and its bindings. It fails with ErrNone if a role is not known; known reports which are not in the
// database. A key that is made in a session is made while the session lasts: else it fails with ErrEnded.
func (s *Store) CreateKey(ctx context.Context, key Key, hash []byte, bindings []Binding, known func(role string) bool) error {
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		if key.Session != "" {
			// The end of the session waits, and then finds the key.
			if _, err := s.holdSession(ctx, tx, key.Session); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO access_keys (id, name, owner, owner_groups, service, hash, hint, created_at, expires_at)
			VALUES ($1, $2, $3, coalesce($4::text[], '{}'), $5, $6, $7, $8, $9)`,
			key.ID, key.Name, key.Owner, key.OwnerGroups, key.Service, hash, key.Hint, key.CreatedAt, key.ExpiresAt)
		for _, binding := range bindings {
			if err == nil {
				_, err = s.insertBinding(ctx, tx, binding, known(binding.Role))
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store key %s: %w", key.ID, err)
	}
	return nil
}

// KeyByHash is the key whose secret has a hash. It fails with ErrNone.
func (s *Store) KeyByHash(ctx context.Context, hash []byte) (Key, error) {
	return s.key(ctx, `hash = $1`, hash)
}

// Key is the key with an id. It fails with ErrNone.
func (s *Store) Key(ctx context.Context, id string) (Key, error) { return s.key(ctx, `id = $1`, id) }

func (s *Store) key(ctx context.Context, condition string, arg any) (Key, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+keyColumns+` FROM access_keys WHERE `+condition, arg)
	if err != nil {
		return Key{}, fmt.Errorf("read a key: %w", err)
	}
	key, err := pgx.CollectExactlyOneRow(rows, scanKey)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Key{}, ErrNone
	case err != nil:
		return Key{}, fmt.Errorf("read a key: %w", err)
	}
	return key, nil
}

// KeyFilter says which keys a list has.
type KeyFilter struct {
	// Owner is the only one; empty means all.
	Owner string
	// Ended lists those too that are no longer valid.
	Ended bool
	// BeforeTime and BeforeID are the last key of the page before; zero for the first page.
	BeforeTime time.Time
	BeforeID   string
	Limit      int
}

// ListKeys are the keys that pass a filter, newest first.
func (s *Store) ListKeys(ctx context.Context, filter KeyFilter) ([]Key, error) {
	var b listquery.Builder
	if filter.Owner != "" {
		b.Equal("owner", filter.Owner)
	}
	if !filter.Ended {
		b.Where("revoked_at IS NULL AND (expires_at IS NULL OR expires_at > " + b.Arg(s.clock.Now(), "timestamptz") + ")")
	}
	if filter.BeforeID != "" {
		b.Where("(created_at, id) < (" + b.Arg(filter.BeforeTime, "timestamptz") + ", " + b.Arg(filter.BeforeID, "text") + ")")
	}
	limit := b.Arg(filter.Limit, "bigint")
	rows, err := s.pool.Query(ctx, `SELECT `+keyColumns+` FROM access_keys WHERE `+b.Conditions()+` ORDER BY created_at DESC, id DESC LIMIT `+limit, b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	keys, err := pgx.CollectRows(rows, scanKey)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return keys, nil
}

// RevokeKey ends a key; one that has ended stays as it is.
func (s *Store) RevokeKey(ctx context.Context, id string) error {
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE access_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL`, id, s.clock.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke key %s: %w", id, err)
	}
	return nil
}

// KeysUsed records when keys were used last.
func (s *Store) KeysUsed(ctx context.Context, used map[string]time.Time) error {
	var ids []string
	var times []time.Time
	for id, at := range used {
		ids, times = append(ids, id), append(times, at)
	}
	_, err := s.pool.Exec(ctx, `UPDATE access_keys k SET last_used_at = greatest(k.last_used_at, u.at)
		FROM unnest($1::text[], $2::timestamptz[]) AS u (id, at) WHERE k.id = u.id`, ids, times)
	if err != nil {
		return fmt.Errorf("record the use of keys: %w", err)
	}
	return nil
}
