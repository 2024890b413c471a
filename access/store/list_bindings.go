package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// BindingFilter says which bindings a list has.
type BindingFilter struct {
	// Project and Domain, if Scoped, are a place: bindings of it, and of what it is part of, are listed.
	Scoped          bool
	Project, Domain string
	// Member is the only one; the zero value is all.
	Member Member
	// After is the id after which the list continues.
	After int64
	Limit int
}

// ListBindings are the bindings that pass a filter and are within the scope of the call, oldest first.
func (s *Store) ListBindings(ctx context.Context, filter BindingFilter) ([]Binding, error) {
	var b listquery.Builder
	b.Where("id > " + b.Arg(filter.After, "bigint"))
	if filter.Scoped {
		b.Where("project IN ('', " + b.Arg(filter.Project, "text") + ")")
		b.Where("domain IN ('', " + b.Arg(filter.Domain, "text") + ")")
	}
	if filter.Member != (Member{}) {
		b.Equal("kind", string(filter.Member.Kind))
		b.Equal("member", filter.Member.Name)
	}
	listquery.Narrow(ctx, &b, "project", "domain")
	limit := b.Arg(filter.Limit, "bigint")
	rows, err := s.pool.Query(ctx, `SELECT `+bindingColumns+` FROM access_bindings WHERE `+b.Conditions()+` ORDER BY id LIMIT `+limit, b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	bindings, err := pgx.CollectRows(rows, scanBinding)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	return bindings, nil
}
