package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// KeyOwner is whose rights bound those of a key.
type KeyOwner struct {
	// Service means that nothing but its own bindings bounds the key.
	Service bool
	Subject string
	// Groups are those of the last sign-in of the owner.
	Groups []string
}

// OwnerOf is the owner of a key. One that does not exist has none, who may do nothing.
func (s *Store) OwnerOf(ctx context.Context, id string) (owner KeyOwner, err error) {
	err = s.pool.QueryRow(ctx, `SELECT service, owner, owner_groups FROM access_keys WHERE id = $1`, id).Scan(&owner.Service, &owner.Subject, &owner.Groups)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return KeyOwner{}, fmt.Errorf("read the owner of a key: %w", err)
	}
	return owner, nil
}

// OwnerSignedIn gives the keys of a person the groups that the person has now.
func (s *Store) OwnerSignedIn(ctx context.Context, subject string, groups []string) error {
	groups = slices.Compact(slices.Sorted(slices.Values(groups)))
	if groups == nil {
		groups = []string{}
	}
	const others = ` access_keys WHERE owner = $1 AND NOT service AND revoked_at IS NULL AND owner_groups <> $2`
	var some bool
	if err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM`+others+`)`, subject, groups).Scan(&some); err != nil {
		return fmt.Errorf("read the groups of the owner of keys: %w", err)
	}
	if !some {
		return nil // as almost always: the policy does not change
	}
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE access_keys SET owner_groups = $2 WHERE id IN (SELECT id FROM`+others+`)`, subject, groups)
		return err
	})
	if err != nil {
		return fmt.Errorf("store the groups of the owner of keys: %w", err)
	}
	return nil
}
