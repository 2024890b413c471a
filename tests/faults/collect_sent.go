package main

import (
	"context"
	"fmt"
	"path"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// sent reads what left the server because of a run: what it notes about that, and what was received.
func (c *collector) sent(ctx context.Context, conn *pgx.Conn, run *check.Run) error {
	for _, note := range c.stack.Sink.Notes(run.Name) {
		run.Told = append(run.Told, check.Told{ID: note.ID, Rule: note.Rule, Action: note.Action, Phase: phaseOf(note.Phase)})
	}
	for _, change := range c.stack.Sink.Changes(run.Name) {
		run.Published = append(run.Published, check.Published{
			ID: change.ID, Action: change.Action, Seq: change.Sequence, Attempt: change.Attempt, Phase: phaseOf(change.Phase), Version: change.Version,
		})
	}
	rows, err := conn.Query(ctx, `SELECT key, delivery, template, action, phase, state, last_error FROM notification_deliveries
		WHERE project = $1 AND domain = $2 AND run_name = $3`, run.Script.Tenant.Project(), script.Domain, run.Name)
	if err != nil {
		return fmt.Errorf("read notifications: %w", err)
	}
	run.Deliveries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (check.Delivery, error) {
		var d check.Delivery
		var template []byte
		var phase int16
		if err := row.Scan(&d.ID, &d.Rule, &template, &d.Action, &phase, &d.State, &d.Error); err != nil {
			return d, err
		}
		d.Phase = int32(phase)
		if d.Rule == "" {
			d.Rule, err = inlineRule(template)
		}
		return d, err
	})
	if err != nil {
		return fmt.Errorf("read notifications: %w", err)
	}
	rows, err = conn.Query(ctx, `SELECT name, source_action, version FROM artifact_versions WHERE project = $1 AND domain = $2 AND source_run = $3`,
		run.Script.Tenant.Project(), script.Domain, run.Name)
	if err != nil {
		return fmt.Errorf("read artifacts: %w", err)
	}
	if run.Artifacts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[check.Artifact]); err != nil {
		return fmt.Errorf("read artifacts: %w", err)
	}
	rows, err = conn.Query(ctx, `SELECT u.name FROM artifact_uses a JOIN actions r ON r.id = a.run_id JOIN actions u ON u.id = ANY(a.actions)
		WHERE a.name = $4 AND a.project = $1 AND r.project = $1 AND r.domain = $2 AND r.run_name = $3`, run.Script.Tenant.Project(), script.Domain, run.Name, script.ReadArtifact)
	if err != nil {
		return fmt.Errorf("read uses of artifacts: %w", err)
	}
	if run.Users, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return fmt.Errorf("read uses of artifacts: %w", err)
	}
	return nil
}

// inlineRule tells from a delivery that the run brought along which rule it is of: the URL says it.
func inlineRule(encoded []byte) (string, error) {
	template := &notification.DeliveryConfigTemplate{}
	if err := proto.Unmarshal(encoded, template); err != nil {
		return "", err
	}
	return path.Base(template.GetWebhook().GetUrl()), nil
}

func phaseOf(name string) int32 {
	p, _ := phase.Named(name)
	return int32(p)
}
