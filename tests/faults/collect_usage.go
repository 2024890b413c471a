package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// curves reads what the attempts of the storm used, as the server shows it.
func (c *collector) curves(ctx context.Context, conn *pgx.Conn) ([]check.Curve, error) {
	rows, err := conn.Query(ctx, `SELECT a.project, a.run_name, a.name, u.attempt, a.attempt
		FROM attempt_usage u JOIN actions a ON a.id = u.action_id WHERE a.run_name LIKE $1`, runsOf(c.driver.plan.seed))
	if err != nil {
		return nil, fmt.Errorf("read what attempts used: %w", err)
	}
	var curves []check.Curve
	var requests []*insightv1.GetAttemptUsageRequest
	var project, run, action string
	var attempt, attempts int32
	_, err = pgx.ForEachRow(rows, []any{&project, &run, &action, &attempt, &attempts}, func() error {
		curves = append(curves, check.Curve{Action: run + "/" + action, Attempt: attempt, Attempts: attempts})
		requests = append(requests, &insightv1.GetAttemptUsageRequest{Attempt: uint32(attempt), ActionId: &common.ActionIdentifier{
			Run: &common.RunIdentifier{Project: project, Domain: script.Domain, Name: run}, Name: action,
		}})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what attempts used: %w", err)
	}
	for i := range curves {
		err := insist(ctx, func(ctx context.Context) error {
			answer, err := c.driver.root.usage.GetAttemptUsage(ctx, requests[i])
			curves[i].Points = nil
			for _, point := range answer.GetPoints() {
				curves[i].Points = append(curves[i].Points, point.GetAt().AsTime())
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("what %s used: %w", curves[i].Action, err)
		}
	}
	return curves, nil
}
