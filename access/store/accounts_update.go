package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// UpdateAccount replaces the display name, the e-mail and the groups of an account, also in its sessions and for its API keys, so that
// roles of groups hold at once. It fails with ErrNone.
func (s *Store) UpdateAccount(ctx context.Context, account Account, subject string) error {
	groups := slices.Compact(slices.Sorted(slices.Values(account.Groups)))
	if groups == nil {
		groups = []string{}
	}
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		const update = `UPDATE access_accounts SET display_name = $2, email = $3, groups = $4 WHERE name = $1 AND disabled_at IS NULL`
		tag, err := tx.Exec(ctx, update, account.Name, account.DisplayName, account.Email, groups)
		if err != nil || tag.RowsAffected() == 0 {
			return errors.Join(err, when(err == nil, ErrNone))
		}
		// The keys are those of sessions.Person.
		const sessions = `UPDATE access_sessions SET person = convert_to((convert_from(person, 'UTF8')::jsonb
			|| jsonb_build_object('name', $2::text, 'email', $3::text, 'groups', to_jsonb($4::text[])))::text, 'UTF8') WHERE subject = $1`
		if _, err := tx.Exec(ctx, sessions, subject, cmp.Or(account.DisplayName, account.Name), account.Email, groups); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE access_keys SET owner_groups = $2 WHERE owner = $1 AND NOT service AND revoked_at IS NULL`, subject, groups)
		return err
	})
	if err != nil {
		return fmt.Errorf("change the account %s: %w", account.Name, err)
	}
	return nil
}
