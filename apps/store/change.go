package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// keptEvents is how many events an app keeps, about.
	keptEvents = 1000
	// keptReplicas is how many replicas that are gone an app remembers.
	keptReplicas = 50
)

// Change is a decided change of an app.
type Change struct {
	// App is the new row; with ID 0 it is inserted. Its version grows.
	App *App
	// Added is a new revision; may be nil.
	Added *Revision
	// Judged are revisions whose state has changed; only Revision, State and Message count.
	Judged []Revision
	// Events are appended. Their numbers follow App.EventSeq.
	Events []Event
	// Uses are what the app uses from now on; nil leaves that as it is.
	Uses *Uses
	// Gone are replicas that ended.
	Gone []Replica
	// Committed is called once the change is committed; may be nil.
	Committed func(context.Context)
}

func (c *Change) committed(ctx context.Context) {
	if c.Committed != nil {
		c.Committed(ctx)
	}
}

// Create inserts an app. It returns AlreadyExists if its name, its subdomain or its host name is taken.
func (s *Store) Create(ctx context.Context, change Change) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error { return s.write(ctx, tx, &change) })
	if err == nil {
		change.committed(ctx)
	}
	return taken(err, change.App)
}

// taken explains which name of an app belongs to another one.
func taken(err error, a *App) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "23505" {
		if err != nil {
			return fmt.Errorf("write app: %w", err)
		}
		return nil
	}
	switch refused.ConstraintName {
	case "apps_subdomain_key":
		return rpc.AlreadyExists("subdomain %s is used by another app; choose another one in spec.ingress.subdomain", a.Subdomain)
	case "apps_cname_key":
		return rpc.AlreadyExists("host name %s is used by another app", *a.CName)
	default:
		return rpc.AlreadyExists("app %s already exists in %s/%s", a.Name, a.Project, a.Domain)
	}
}

// Selection says which apps are changed.
type Selection struct {
	where string
	arg   any
}

// ByKey selects one app by its name.
func ByKey(key Key) Selection {
	return Selection{`(a.project, a.domain, a.name) = (SELECT x[1], x[2], x[3] FROM (SELECT $1::text[] AS x) k)`, []string{key.Project, key.Domain, key.Name}}
}

// ByUIDs selects apps by their unique ids.
func ByUIDs(uids ...string) Selection { return Selection{`a.uid = ANY($1)`, uids} }

// ByIDs selects apps by their row ids.
func ByIDs(ids ...int64) Selection { return Selection{`a.id = ANY($1)`, ids} }

// Change changes apps in one transaction. decide gets those that exist, under lock, and returns what changes; after an error
// nothing has changed.
func (s *Store) Change(ctx context.Context, which Selection, decide func([]*App) ([]Change, error)) error {
	var last *App
	var changes []Change
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		found, err := readApps(ctx, tx, `SELECT `+appColumns+` FROM apps a WHERE `+which.where+` ORDER BY a.id FOR UPDATE`, which.arg)
		if err != nil {
			return err
		}
		if changes, err = decide(found); err != nil {
			return err
		}
		for i := range changes {
			last = changes[i].App
			if err := s.write(ctx, tx, &changes[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		for i := range changes {
			changes[i].committed(ctx)
		}
	}
	if last == nil {
		last = &App{}
	}
	return taken(err, last)
}

// Delete deletes an app with all that it has, and makes its stored logs due for deletion; false if there is none.
func (s *Store) Delete(ctx context.Context, key Key) (bool, error) {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		var id int64
		var uid string
		if err := tx.QueryRow(ctx, `DELETE FROM apps WHERE project = $1 AND domain = $2 AND name = $3 RETURNING id, uid`,
			key.Project, key.Domain, key.Name).Scan(&id, &uid); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`DELETE FROM app_loads WHERE app_id = $1`, id)
		batch.Queue(`DELETE FROM app_traffic WHERE app_id = $1`, id)
		queueLogsOf(batch, key, uid, s.clock.Now())
		announce(batch, id)
		return tx.SendBatch(ctx, batch).Close()
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete app: %w", err)
	}
	return true, nil
}

func announce(batch *pgx.Batch, id int64) {
	batch.Queue(`SELECT pg_notify($1, $2)`, Channel, strconv.FormatInt(id, 10))
}

func readApps(ctx context.Context, from querier, query string, args ...any) ([]*App, error) {
	rows, err := from.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*App, error) {
		a := &App{}
		return a, row.Scan(a.targets()...)
	})
}

type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

func (s *Store) write(ctx context.Context, tx pgx.Tx, change *Change) error {
	a := change.App
	a.Version++
	for i := range change.Events {
		a.EventSeq++
		change.Events[i].Seq = a.EventSeq
	}
	if change.Uses != nil && len(change.Uses.Runs) > 0 {
		// Retention decides under the same lock, exclusively: it sees these uses, or they come after it.
		if err := pgdb.LockRetentionShared(ctx, tx); err != nil {
			return err
		}
	}
	if err := writeApp(ctx, tx, a); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	if r := change.Added; r != nil {
		batch.Queue(`INSERT INTO app_revisions (app_id, revision, spec, created_at, created_by, reason, restores, state, message)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			a.ID, r.Revision, r.Spec, r.CreatedAt, r.CreatedBy, r.Reason, r.Restores, r.State, r.Message)
	}
	for _, r := range change.Judged {
		batch.Queue(`UPDATE app_revisions SET state = $3, message = $4 WHERE app_id = $1 AND revision = $2`, a.ID, r.Revision, r.State, r.Message)
	}
	for _, e := range change.Events {
		batch.Queue(`INSERT INTO app_events (app_id, seq, time, revision, status, substate, message, actor) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			a.ID, e.Seq, e.Time, e.Revision, e.Status, e.Substate, e.Message, e.Actor)
		if e.Seq > keptEvents && e.Seq%100 == 0 {
			batch.Queue(`DELETE FROM app_events WHERE app_id = $1 AND seq <= $2`, a.ID, e.Seq-keptEvents)
		}
	}
	queueUses(batch, a.ID, change.Uses)
	queueGone(batch, a.ID, change.Gone)
	announce(batch, a.ID)
	return tx.SendBatch(ctx, batch).Close()
}

func queueGone(batch *pgx.Batch, id int64, gone []Replica) {
	if len(gone) == 0 {
		return
	}
	for _, r := range gone {
		batch.Queue(`INSERT INTO app_replicas (app_id, name, revision, replica, gone_at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (app_id, name) DO UPDATE SET replica = EXCLUDED.replica`, id, r.Name, r.Revision, r.Replica, r.GoneAt)
	}
	queueForgotten(batch, id, gone[0].GoneAt)
}

func writeApp(ctx context.Context, tx pgx.Tx, a *App) error {
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	if a.ID == 0 {
		return tx.QueryRow(ctx, `
			INSERT INTO apps (uid, project, domain, name, cluster, subdomain, cname, revision, spec, desired_state, labels, code_bundle_uri,
				source_code, created_by, foreign_run, state, observed, observed_at, status, created_at, updated_at, started_at, event_seq,
				version, run_version, next_at, others, leaving, waits)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)
			RETURNING id`,
			a.UID, a.Project, a.Domain, a.Name, a.Cluster, a.Subdomain, a.CName, a.Revision, a.Spec, a.DesiredState, a.Labels, a.CodeBundleURI,
			notNil(a.SourceCode), a.CreatedBy, a.Foreign, notNil(a.State), notNil(a.Observed), a.ObservedAt, a.Status, a.CreatedAt, a.UpdatedAt,
			a.StartedAt, a.EventSeq, a.Version, a.RunVersion, a.NextAt, names(a.Others), names(a.Leaving), a.Waits).Scan(&a.ID)
	}
	_, err := tx.Exec(ctx, `
		UPDATE apps SET cluster = $2, subdomain = $3, cname = $4, revision = $5, spec = $6, desired_state = $7, labels = $8,
			code_bundle_uri = $9, source_code = $10, foreign_run = $11, state = $12, observed = $13, observed_at = $14, status = $15,
			updated_at = $16, started_at = $17, event_seq = $18, version = $19, run_version = $20, next_at = $21, ready = $22, others = $23, leaving = $24, waits = $25
		WHERE id = $1`,
		a.ID, a.Cluster, a.Subdomain, a.CName, a.Revision, a.Spec, a.DesiredState, a.Labels,
		a.CodeBundleURI, notNil(a.SourceCode), a.Foreign, notNil(a.State), notNil(a.Observed), a.ObservedAt, a.Status,
		a.UpdatedAt, a.StartedAt, a.EventSeq, a.Version, a.RunVersion, a.NextAt, a.Ready, names(a.Others), names(a.Leaving), a.Waits)
	return err
}

// names is a list for a column that has no NULL.
func names(of []string) []string { return append([]string{}, of...) }

// notNil is an empty value for a column that has no NULL.
func notNil(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

// NudgeAll makes all apps due that will be some time.
func (s *Store) NudgeAll(ctx context.Context, now time.Time) error {
	if _, err := s.pool.Exec(ctx, `UPDATE apps SET next_at = $1 WHERE next_at > $1`, now); err != nil {
		return fmt.Errorf("wake all apps: %w", err)
	}
	return nil
}

// Nudge makes the apps of a cluster due at a time.
func (s *Store) Nudge(ctx context.Context, cluster string, at time.Time) error {
	_, err := s.pool.Exec(ctx, `UPDATE apps a SET next_at = $2 WHERE `+onCluster("$1")+` AND NOT foreign_run`, cluster, at)
	if err != nil {
		return fmt.Errorf("wake the apps of a cluster: %w", err)
	}
	return nil
}
