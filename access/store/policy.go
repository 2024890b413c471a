package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// MemberKind says what sort of member a binding names.
type MemberKind string

// The kinds of members.
const (
	UserMember  MemberKind = "user"
	GroupMember MemberKind = "group"
	KeyMember   MemberKind = "key"
)

// Member is who can hold roles.
type Member struct {
	Kind MemberKind
	Name string
}

// Role is a named list of patterns of permissions.
type Role struct {
	Name, Description string
	Permissions       []string
	// BuiltIn and Configured roles are not in the database and cannot be changed by call.
	BuiltIn, Configured bool
}

// Binding gives a member a role in a scope, of which an empty part is every one.
type Binding struct {
	// ID is empty for those of the configuration.
	ID              string
	Member          Member
	Role            string
	Project, Domain string
	CreatedBy       string
	CreatedAt       time.Time
}

// PolicyVersion grows with each change of roles, bindings, keys and accounts.
func (s *Store) PolicyVersion(ctx context.Context) (version int64, err error) {
	if err := s.pool.QueryRow(ctx, `SELECT version FROM access_policy`).Scan(&version); err != nil {
		return 0, fmt.Errorf("read the version of the policy: %w", err)
	}
	return version, nil
}

// changePolicy changes something on which decisions depend, and tells all replicas.
func (s *Store) changePolicy(ctx context.Context, change func(tx pgx.Tx) error) error {
	return pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		// Last, since it waits for other changes.
		_, err := tx.Exec(ctx, `WITH grown AS (UPDATE access_policy SET version = version + 1 RETURNING version)
			SELECT pg_notify($1, version::text) FROM grown`, Channel)
		return err
	})
}

// Roles are those that were made by call, in alphabetical order.
func (s *Store) Roles(ctx context.Context) ([]Role, error) {
	rows, err := s.pool.Query(ctx, `SELECT name, description, permissions FROM access_roles ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("read the roles: %w", err)
	}
	roles, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Role, err error) {
		return r, row.Scan(&r.Name, &r.Description, &r.Permissions)
	})
	if err != nil {
		return nil, fmt.Errorf("read the roles: %w", err)
	}
	return roles, nil
}

// PutRole creates or replaces a role.
func (s *Store) PutRole(ctx context.Context, role Role) error {
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO access_roles (name, description, permissions, updated_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET description = excluded.description, permissions = excluded.permissions, updated_at = excluded.updated_at`,
			role.Name, role.Description, role.Permissions, s.clock.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("store role %s: %w", role.Name, err)
	}
	return nil
}

var (
	// ErrNone says that there is no such row.
	ErrNone = errors.New("there is none")
	// ErrBound says that bindings name the role.
	ErrBound = errors.New("bindings name the role")
)

// DeleteRole deletes a role. It fails with ErrNone or ErrBound.
func (s *Store) DeleteRole(ctx context.Context, name string) error {
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE access_bindings IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err // no binding is made while it is checked that there is none
		}
		var bound bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM access_bindings WHERE role = $1)`, name).Scan(&bound); err != nil || bound {
			return errors.Join(err, when(bound, ErrBound))
		}
		tag, err := tx.Exec(ctx, `DELETE FROM access_roles WHERE name = $1`, name)
		return errors.Join(err, when(err == nil && tag.RowsAffected() == 0, ErrNone))
	})
	if err != nil {
		return fmt.Errorf("delete role %s: %w", name, err)
	}
	return nil
}

func when(condition bool, err error) error {
	if condition {
		return err
	}
	return nil
}

const bindingColumns = `id, kind, member, role, project, domain, created_by, created_at`

func scanBinding(row pgx.CollectableRow) (b Binding, err error) {
	var id int64
	err = row.Scan(&id, &b.Member.Kind, &b.Member.Name, &b.Role, &b.Project, &b.Domain, &b.CreatedBy, &b.CreatedAt)
	b.ID = strconv.FormatInt(id, 10)
	return b, err
}

func columnsOf(members []Member) (kinds, names []string) {
	for _, member := range members {
		kinds, names = append(kinds, string(member.Kind)), append(names, member.Name)
	}
	return kinds, names
}

// BindingsOf are the bindings of some members, oldest first.
func (s *Store) BindingsOf(ctx context.Context, members []Member) ([]Binding, error) {
	kinds, names := columnsOf(members)
	rows, err := s.pool.Query(ctx, `SELECT `+bindingColumns+` FROM access_bindings b
		JOIN unnest($1::text[], $2::text[]) AS m (k, n) ON b.kind = m.k AND b.member = m.n ORDER BY id`, kinds, names)
	if err != nil {
		return nil, fmt.Errorf("read bindings: %w", err)
	}
	bindings, err := pgx.CollectRows(rows, scanBinding)
	if err != nil {
		return nil, fmt.Errorf("read bindings: %w", err)
	}
	return bindings, nil
}

// CreateBinding makes a binding, or returns the one that there is. It fails with ErrNone if the role is not known; known are
// those that are not in the database.
func (s *Store) CreateBinding(ctx context.Context, b Binding, known bool) (made Binding, err error) {
	err = s.changePolicy(ctx, func(tx pgx.Tx) error {
		made, err = s.insertBinding(ctx, tx, b, known)
		return err
	})
	if err != nil {
		return Binding{}, fmt.Errorf("store a binding of %s: %w", b.Role, err)
	}
	return made, nil
}

func (s *Store) insertBinding(ctx context.Context, tx pgx.Tx, b Binding, known bool) (Binding, error) {
	if !known {
		var there bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM access_roles WHERE name = $1)`, b.Role).Scan(&there); err != nil || !there {
			return Binding{}, errors.Join(err, when(!there, ErrNone))
		}
	}
	// The update changes nothing, but returns the row.
	rows, err := tx.Query(ctx, `INSERT INTO access_bindings (kind, member, role, project, domain, created_by, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (kind, member, role, project, domain) DO UPDATE SET kind = excluded.kind RETURNING `+bindingColumns,
		b.Member.Kind, b.Member.Name, b.Role, b.Project, b.Domain, b.CreatedBy, s.clock.Now())
	if err != nil {
		return Binding{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanBinding)
}

// DeleteBinding deletes a binding of a scope. It fails with ErrNone.
func (s *Store) DeleteBinding(ctx context.Context, id, project, domain string) error {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("delete binding %q: %w", id, ErrNone)
	}
	err = s.changePolicy(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM access_bindings WHERE id = $1 AND project = $2 AND domain = $3`, number, project, domain)
		return errors.Join(err, when(err == nil && tag.RowsAffected() == 0, ErrNone))
	})
	if err != nil {
		return fmt.Errorf("delete binding %s: %w", id, err)
	}
	return nil
}
