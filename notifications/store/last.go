package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Cause is a rule and a delivery of the configuration that it uses.
type Cause struct{ Rule, Delivery string }

// Last are the latest deliveries in a project's domain, by their causes. Of several receivers of one e-mail, one that did not get it counts.
func (s *Store) Last(ctx context.Context, project, domain string, causes []Cause) (map[Cause]Delivery, error) {
	found := map[Cause]Delivery{}
	if len(causes) == 0 {
		return found, nil
	}
	rules, deliveries := make([]string, len(causes)), make([]string, len(causes))
	for i, cause := range causes {
		rules[i], deliveries[i] = cause.Rule, cause.Delivery
	}
	rows, err := s.pool.Query(ctx, `
		SELECT `+columns+` FROM unnest($3::text[], $4::text[]) AS c (rule, delivery) CROSS JOIN LATERAL (
			SELECT * FROM notification_deliveries
			WHERE project = $1 AND domain = $2 AND rule = c.rule AND delivery = c.delivery AND rule <> ''
			ORDER BY created_at DESC, state DESC LIMIT 1) AS d`, project, domain, rules, deliveries)
	if err != nil {
		return nil, fmt.Errorf("read the latest deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("read the latest deliveries: %w", err)
	}
	for _, d := range list {
		found[Cause{d.Rule, d.Delivery}] = d
	}
	return found, nil
}
