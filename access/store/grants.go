package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// GrantKind is what a grant is.
type GrantKind string

// The kinds of grants.
const (
	GrantRequest  GrantKind = "request"   // a request of a client that waits for its person
	GrantCode     GrantKind = "code"      // a code that a client exchanges for tokens
	GrantDevice   GrantKind = "device"    // a device that waits for its person
	GrantUserCode GrantKind = "user-code" // the code that the person types for a device
	GrantLogin    GrantKind = "login"     // a browser that is at an identity provider
	GrantAppCode  GrantKind = "app-code"  // a code that a browser brings to the host of an app
)

// hashed is how a secret value is known in the table.
func hashed(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// PutGrant stores data, as JSON, under the secret value of a kind until the end of its lifetime. It replaces what was there.
func (s *Store) PutGrant(ctx context.Context, kind GrantKind, value string, data any, lifetime time.Duration) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode a %s: %w", kind, err)
	}
	const put = `INSERT INTO access_grants (kind, id, data, expires_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (kind, id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at`
	err = pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, put, kind, hashed(value), body, s.clock.Now().Add(lifetime))
		return err
	})
	if err != nil {
		return fmt.Errorf("store a %s: %w", kind, err)
	}
	return nil
}

// ChangeGrant replaces the data of a grant that has not expired, and keeps its end. A person has answered it, so it no longer
// counts for the address that began it.
func (s *Store) ChangeGrant(ctx context.Context, kind GrantKind, value string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode a %s: %w", kind, err)
	}
	const change = `UPDATE access_grants SET data = $3, peer = '' WHERE kind = $1 AND id = $2 AND expires_at > $4`
	err = pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, change, kind, hashed(value), body, s.clock.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("change a %s: %w", kind, err)
	}
	return nil
}

// Grant reads a grant that has not expired into data. found is false if there is none.
func (s *Store) Grant(ctx context.Context, kind GrantKind, value string, data any) (found bool, err error) {
	return s.grant(ctx, `SELECT data FROM access_grants WHERE kind = $1 AND id = $2 AND expires_at > $3`, kind, value, data)
}

// TakeGrant is Grant for what may be used once: it deletes the grant.
func (s *Store) TakeGrant(ctx context.Context, kind GrantKind, value string, data any) (found bool, err error) {
	return s.grant(ctx, `DELETE FROM access_grants WHERE kind = $1 AND id = $2 AND expires_at > $3 RETURNING data`, kind, value, data)
}

func (s *Store) grant(ctx context.Context, query string, kind GrantKind, value string, data any) (found bool, err error) {
	var body []byte
	err = s.pool.QueryRow(ctx, query, kind, hashed(value), s.clock.Now()).Scan(&body)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read a %s: %w", kind, err)
	}
	if err := json.Unmarshal(body, data); err != nil {
		return false, fmt.Errorf("decode a %s: %w", kind, err)
	}
	return true, nil
}
