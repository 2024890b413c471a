package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// automationArtifact is task.TriggerAutomationSpecType_TYPE_ARTIFACT.
const automationArtifact = 3

// ErrNoMark says that a change begins or ends a watch, so that it requires a mark.
var ErrNoMark = errors.New("a mark of the events of artifacts is required")

// Artifact names an artifact.
type Artifact struct{ Project, Domain, Name string }

// Watch is a revision of a trigger that waits for versions of an artifact, or did.
type Watch struct {
	// Trigger has the columns that identify it, and the revision with its automation and its spec.
	Trigger
	// Artifact is in the place of the trigger.
	Artifact string
	// After and Until say which events count: those above After, up to Until if it is set.
	After int64
	Until *int64
}

// Covers reports whether an event counts.
func (w *Watch) Covers(seq int64) bool { return seq > w.After && (w.Until == nil || seq <= *w.Until) }

// watching reports whether a trigger waits for an artifact.
func watching(t *Trigger) bool {
	return t != nil && t.AutomationType == automationArtifact && t.Active && t.DeletedAt == nil
}

// writeWatch ends the watch of a trigger and begins that of its new revision. A version that was acknowledged before the
// mark was taken is for the old revision, one that is created after the change for the new one.
func (s *Store) writeWatch(ctx context.Context, tx pgx.Tx, before *Trigger, change Change, mark *int64) error {
	if change.Action == 0 || !watching(before) && !watching(change.Trigger) {
		return nil
	}
	if mark == nil {
		return ErrNoMark
	}
	t := change.Trigger
	if _, err := tx.Exec(ctx, `UPDATE trigger_watches SET until_seq = greatest(after_seq, $2), ended_at = $3 WHERE trigger_id = $1 AND until_seq IS NULL`,
		t.ID, *mark, s.clock.Now()); err != nil {
		return err
	}
	if !watching(t) {
		return nil
	}
	// Another change may have taken a later mark meanwhile.
	_, err := tx.Exec(ctx, `INSERT INTO trigger_watches (trigger_id, revision, project, domain, artifact, after_seq)
		VALUES ($1, $2, $3, $4, $5, greatest($6, (SELECT max(until_seq) FROM trigger_watches WHERE trigger_id = $1)))`,
		t.ID, t.Revision, t.Project, t.Domain, change.Artifact, *mark)
	return err
}

// Watches returns the watches of artifacts, ended ones too.
func (s *Store) Watches(ctx context.Context, artifacts []Artifact) ([]*Watch, error) {
	var projects, domains, names []string
	for _, a := range artifacts {
		projects, domains, names = append(projects, a.Project), append(domains, a.Domain), append(names, a.Name)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT t.id, t.project, t.domain, t.task_name, t.name, r.revision, r.automation, r.spec, w.artifact, w.after_seq, w.until_seq
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[]) AS u(project, domain, artifact)) u
			JOIN trigger_watches w USING (project, domain, artifact)
			JOIN triggers t ON t.id = w.trigger_id
			JOIN trigger_revisions r ON r.trigger_id = w.trigger_id AND r.revision = w.revision`, projects, domains, names)
	if err != nil {
		return nil, fmt.Errorf("read watches: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Watch, error) {
		w := &Watch{}
		return w, row.Scan(&w.ID, &w.Project, &w.Domain, &w.Task.Name, &w.Name, &w.Revision, &w.Automation, &w.Spec, &w.Artifact, &w.After, &w.Until)
	})
	if err != nil {
		return nil, fmt.Errorf("read watches: %w", err)
	}
	return found, nil
}

// TakeVersions records fires of triggers in one transaction, and returns how many there were. One that was recorded before
// is left as it is. At most most fires of a trigger wait for their runs, and more are skipped; 0 means no limit.
func (s *Store) TakeVersions(ctx context.Context, now time.Time, fires []Fire, most int) (int, error) {
	var ids, revisions []int64
	var slots []time.Time
	var causes, names []string
	for i := range fires {
		f := &fires[i]
		ids, revisions, slots = append(ids, f.TriggerID), append(revisions, f.Revision), append(slots, f.Slot)
		causes, names = append(causes, f.Cause), append(names, f.RunName)
	}
	count := 0
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// The order in which ChangeTasks locks triggers.
		if _, err := tx.Exec(ctx, `UPDATE triggers SET triggered_at = $2 WHERE id IN (SELECT id FROM triggers WHERE id = ANY($1)
			ORDER BY project COLLATE "C", domain COLLATE "C", task_name COLLATE "C", id FOR NO KEY UPDATE)`, ids, now); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO trigger_fires (trigger_id, slot, cause, revision, state, reason, run_name, retry_at, recorded_at, settled_at)
			SELECT trigger_id, slot, cause, revision, CASE WHEN excess THEN $8::smallint ELSE $6::smallint END, CASE WHEN excess THEN $10::text ELSE '' END,
				CASE WHEN excess THEN '' ELSE run_name END, CASE WHEN NOT excess THEN $7::timestamptz END, $7::timestamptz, CASE WHEN excess THEN $7::timestamptz END
			FROM (
				SELECT u.*, $9::bigint > 0 AND coalesce(w.waiting, 0) + row_number() OVER (PARTITION BY u.trigger_id ORDER BY u.slot, u.cause) > $9::bigint AS excess
				FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::bigint[], $5::text[]) AS u(trigger_id, slot, cause, revision, run_name)
				LEFT JOIN (
					SELECT trigger_id, count(*) AS waiting FROM trigger_fires WHERE retry_at IS NOT NULL AND trigger_id = ANY($1) GROUP BY trigger_id
				) w USING (trigger_id)) fires
			ON CONFLICT DO NOTHING`, ids, slots, causes, revisions, names, int16(Pending), now, int16(Skipped), most,
			fmt.Sprintf("%d versions of the trigger wait for their runs, and there may not be more (triggers.maxWaiting)", most))
		count = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("claim versions: %w", err)
	}
	return count, nil
}

// ForgetWatches deletes watches that ended before a time.
func (s *Store) ForgetWatches(ctx context.Context, before time.Time) error {
	if _, err := s.pool.Exec(ctx, `DELETE FROM trigger_watches WHERE ended_at < $1`, before); err != nil {
		return fmt.Errorf("delete old watches: %w", err)
	}
	return nil
}

// Fired reports which versions a trigger has fires for, by their time and cause.
func (s *Store) Fired(ctx context.Context, trigger int64, slots []time.Time, causes []string) (map[string]bool, error) {
	rows, err := s.pool.Query(ctx, `SELECT cause FROM trigger_fires WHERE trigger_id = $1
		AND (slot, cause) IN (SELECT * FROM unnest($2::timestamptz[], $3::text[]))`, trigger, slots, causes)
	if err != nil {
		return nil, fmt.Errorf("read fires: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read fires: %w", err)
	}
	fired := map[string]bool{}
	for _, one := range found {
		fired[one] = true
	}
	return fired, nil
}
