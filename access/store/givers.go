package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Giving are at most limit bindings of one scope that give people or groups one of some roles, oldest first.
func (s *Store) Giving(ctx context.Context, roles []string, project, domain string, limit int) ([]Binding, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+bindingColumns+` FROM access_bindings
		WHERE project = $1 AND domain = $2 AND role = ANY($3) AND kind IN ('user', 'group') ORDER BY id LIMIT $4`, project, domain, roles, limit)
	if err != nil {
		return nil, fmt.Errorf("read who gives roles: %w", err)
	}
	bindings, err := pgx.CollectRows(rows, scanBinding)
	if err != nil {
		return nil, fmt.Errorf("read who gives roles: %w", err)
	}
	return bindings, nil
}

// Contact is how a person is called and reached.
type Contact struct {
	Subject string   `json:"-"`
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Groups  []string `json:"groups"`
}

// Contacts are those of people with a session, as they signed in last.
func (s *Store) Contacts(ctx context.Context, subjects []string) ([]Contact, error) {
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT ON (subject) subject, person FROM access_sessions WHERE subject = ANY($1)
		ORDER BY subject, created_at DESC`, subjects)
	return contactsOf(rows, err)
}

// People are those with some subjects, and at most limit of those who have some groups, as they signed in last.
func (s *Store) People(ctx context.Context, subjects, groups []string, limit int) ([]Contact, error) {
	rows, err := s.pool.Query(ctx, `
		WITH people AS (SELECT DISTINCT ON (subject) subject, person FROM access_sessions ORDER BY subject, created_at DESC)
		SELECT subject, person FROM people WHERE subject = ANY($1)
		UNION (SELECT subject, person FROM people WHERE convert_from(person, 'UTF8')::jsonb -> 'groups' ?| $2 ORDER BY subject LIMIT $3)`,
		subjects, groups, limit)
	return contactsOf(rows, err)
}

func contactsOf(rows pgx.Rows, err error) ([]Contact, error) {
	if err != nil {
		return nil, fmt.Errorf("read the names of people: %w", err)
	}
	contacts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Contact, err error) {
		var person []byte
		if err := row.Scan(&c.Subject, &person); err != nil {
			return Contact{}, err
		}
		return c, json.Unmarshal(person, &c)
	})
	if err != nil {
		return nil, fmt.Errorf("read the names of people: %w", err)
	}
	return contacts, nil
}

// AccountsNamed are the local accounts with some names, and at most limit of those in some groups, without passwords.
func (s *Store) AccountsNamed(ctx context.Context, names, groups []string, limit int) ([]Account, error) {
	const query = `SELECT name, display_name, email, groups FROM access_accounts WHERE disabled_at IS NULL AND name = ANY($1)
		UNION (SELECT name, display_name, email, groups FROM access_accounts WHERE disabled_at IS NULL AND groups && $2 ORDER BY name LIMIT $3)
		ORDER BY name`
	rows, err := s.pool.Query(ctx, query, names, groups, limit)
	if err != nil {
		return nil, fmt.Errorf("read the names of accounts: %w", err)
	}
	accounts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Account, err error) {
		return a, row.Scan(&a.Name, &a.DisplayName, &a.Email, &a.Groups)
	})
	if err != nil {
		return nil, fmt.Errorf("read the names of accounts: %w", err)
	}
	return accounts, nil
}
