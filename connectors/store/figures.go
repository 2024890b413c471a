package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// Figures is a connector as people see it.
type Figures struct {
	State
	// LastError is what the last failed call for one of its jobs said; empty if no job has a failed call last.
	LastError string
}

// List reads a page of connectors by their precedence, and the token of the next page; it is empty after the last one.
func (s *Store) List(ctx context.Context, limit int, token string) ([]Figures, string, error) {
	offset, err := listquery.Number(token)
	if err != nil {
		return nil, "", err
	}
	states, err := s.States(ctx)
	if err != nil {
		return nil, "", err
	}
	states = states[min(int(offset), len(states)):]
	following := ""
	if len(states) > limit {
		states, following = states[:limit], fmt.Sprint(int(offset)+limit)
	}
	page := make([]Figures, len(states))
	names := make([]string, len(states))
	for i := range states {
		page[i].State, names[i] = states[i], states[i].Name
	}
	rows, err := s.db.Query(ctx, `
		SELECT DISTINCT ON (connector) connector, problem FROM connector_jobs WHERE connector = ANY($1) AND problem <> '' AND failures <> 0
		ORDER BY connector, due_at DESC`, names)
	if err != nil {
		return nil, "", fmt.Errorf("read errors of connectors: %w", err)
	}
	var name, problem string
	if _, err := pgx.ForEachRow(rows, []any{&name, &problem}, func() error {
		for i := range page {
			if page[i].Name == name {
				page[i].LastError = problem
			}
		}
		return nil
	}); err != nil {
		return nil, "", fmt.Errorf("read errors of connectors: %w", err)
	}
	return page, following, nil
}
