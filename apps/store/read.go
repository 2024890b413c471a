package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Get reads an app, or returns NotFound.
func (s *Store) Get(ctx context.Context, key Key) (*App, error) {
	a := &App{}
	err := s.pool.QueryRow(ctx, `SELECT `+appColumns+` FROM apps a WHERE a.project = $1 AND a.domain = $2 AND a.name = $3`,
		key.Project, key.Domain, key.Name).Scan(a.targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, NotFound(key)
	}
	if err != nil {
		return nil, fmt.Errorf("read app: %w", err)
	}
	return a, nil
}

// NotFound is the error for an app that does not exist.
func NotFound(key Key) error {
	return rpc.NotFound("app %s does not exist in %s/%s", key.Name, key.Project, key.Domain)
}

// ByHost reads the app that has a host name or, if that is empty, a subdomain; nil if there is none.
func (s *Store) ByHost(ctx context.Context, host, subdomain string) (*App, error) {
	found, err := readApps(ctx, s.pool, `SELECT `+appColumns+` FROM apps a WHERE a.cname = NULLIF($1, '') OR a.subdomain = NULLIF($2, '') LIMIT 1`, host, subdomain)
	if err != nil {
		return nil, fmt.Errorf("read app by host: %w", err)
	}
	if len(found) == 0 {
		return nil, nil //nolint:nilnil // none is not an error
	}
	return found[0], nil
}

// ByIDs reads apps; those that do not exist are left out.
func (s *Store) ByIDs(ctx context.Context, ids []int64) ([]*App, error) {
	found, err := readApps(ctx, s.pool, `SELECT `+appColumns+` FROM apps a WHERE a.id = ANY($1) ORDER BY a.id`, ids)
	if err != nil {
		return nil, fmt.Errorf("read apps: %w", err)
	}
	return found, nil
}

// LiveApp is an app that may run.
type LiveApp struct {
	UID      string
	Revision int64
	Key
	Cluster string
	// Others are further clusters that may run it.
	Others []string
}

// Live reads apps by their uids; those that do not exist or are stopped are left out.
func (s *Store) Live(ctx context.Context, uids []string, stopped int16) ([]LiveApp, error) {
	rows, err := s.pool.Query(ctx, `SELECT a.uid, a.revision, a.project, a.domain, a.name, a.cluster, a.others || a.leaving FROM apps a WHERE a.uid = ANY($1) AND a.desired_state <> $2`, uids, stopped)
	if err != nil {
		return nil, fmt.Errorf("read live apps: %w", err)
	}
	live, err := pgx.CollectRows(rows, pgx.RowToStructByPos[LiveApp])
	if err != nil {
		return nil, fmt.Errorf("read live apps: %w", err)
	}
	return live, nil
}

// Scope restricts apps. Empty fields do not.
type Scope struct {
	Key
	Cluster  string
	Artifact Artifact
}

// onCluster is the condition that an app has objects on a cluster.
func onCluster(cluster string) string {
	return `(a.cluster = ` + cluster + ` OR ` + cluster + ` = ANY(a.others) OR ` + cluster + ` = ANY(a.leaving))`
}

func (scope Scope) restrict(ctx context.Context, b *listquery.Builder) {
	for _, in := range []struct{ column, value string }{
		{"a.project", scope.Project}, {"a.domain", scope.Domain}, {"a.name", scope.Name},
	} {
		if in.value != "" {
			b.Equal(in.column, in.value)
		}
	}
	if scope.Cluster != "" {
		b.Where(onCluster(b.Arg(scope.Cluster, "text")))
	}
	if used := scope.Artifact; used.Name != "" {
		condition := fmt.Sprintf(`EXISTS (SELECT FROM app_artifacts u WHERE u.app_id = a.id AND u.project = %s AND u.domain = %s AND u.name = %s`,
			b.Arg(used.Project, "text"), b.Arg(used.Domain, "text"), b.Arg(used.Name, "text"))
		if used.Version != "" {
			condition += ` AND u.version = ` + b.Arg(used.Version, "text")
		}
		b.Where(condition + ")")
	}
	listquery.Narrow(ctx, b, "a.project", "a.domain")
}

// Head is what a stream knows of an app.
type Head struct {
	ID  int64
	UID string
	Key
	Revision            int64
	Version, RunVersion int64
}

// Heads reads the heads of apps within a scope and the scope of the call; with ids, only of these.
func (s *Store) Heads(ctx context.Context, scope Scope, ids []int64) ([]Head, error) {
	var b listquery.Builder
	scope.restrict(ctx, &b)
	if ids != nil {
		b.Where("a.id = ANY(" + b.Arg(ids, "bigint[]") + ")")
	}
	rows, err := s.pool.Query(ctx, `SELECT a.id, a.uid, a.project, a.domain, a.name, a.revision, a.version, a.run_version FROM apps a WHERE `+
		b.Conditions()+` ORDER BY a.id`, b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read the heads of apps: %w", err)
	}
	heads, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Head, err error) {
		return h, row.Scan(&h.ID, &h.UID, &h.Project, &h.Domain, &h.Name, &h.Revision, &h.Version, &h.RunVersion)
	})
	if err != nil {
		return nil, fmt.Errorf("read the heads of apps: %w", err)
	}
	return heads, nil
}

// LastEvents reads the last events of apps, oldest first.
func (s *Store) LastEvents(ctx context.Context, ids []int64, limit int) (map[int64][]Event, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+eventColumns+` FROM unnest($1::bigint[]) AS x(id), LATERAL
		(SELECT * FROM app_events WHERE app_id = x.id ORDER BY seq DESC LIMIT $2) e ORDER BY e.app_id, e.seq`, ids, limit)
	if err != nil {
		return nil, fmt.Errorf("read events of apps: %w", err)
	}
	found, err := collectEvents(rows)
	if err != nil {
		return nil, fmt.Errorf("read events of apps: %w", err)
	}
	events := map[int64][]Event{}
	for _, e := range found {
		events[e.AppID] = append(events[e.AppID], e)
	}
	return events, nil
}

func collectEvents(rows pgx.Rows) ([]Event, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Event, err error) { return e, row.Scan(e.targets()...) })
}

// Events reads the events of an app before one, newest first; before 0 means the newest.
func (s *Store) Events(ctx context.Context, id, before int64, limit int) ([]Event, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+eventColumns+` FROM app_events e WHERE e.app_id = $1 AND ($2 = 0 OR e.seq < $2) ORDER BY e.seq DESC LIMIT $3`, id, before, limit)
	if err != nil {
		return nil, fmt.Errorf("read events of an app: %w", err)
	}
	events, err := collectEvents(rows)
	if err != nil {
		return nil, fmt.Errorf("read events of an app: %w", err)
	}
	return events, nil
}

// Revisions reads the revisions of an app before one, newest first; before 0 means the newest.
func (s *Store) Revisions(ctx context.Context, id, before int64, limit int) ([]Revision, error) {
	return s.revisions(ctx, `r.app_id = $1 AND ($2 = 0 OR r.revision < $2) ORDER BY r.revision DESC LIMIT $3`, id, before, limit)
}

// Named reads some revisions of apps: parallel lists of row ids and numbers.
func (s *Store) Named(ctx context.Context, ids, revisions []int64) (map[[2]int64][]byte, error) {
	rows, err := s.pool.Query(ctx, `SELECT r.app_id, r.revision, r.spec FROM app_revisions r
		JOIN (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) AS u(app_id, revision)) u USING (app_id, revision)`, ids, revisions)
	if err != nil {
		return nil, fmt.Errorf("read specs of apps: %w", err)
	}
	specs := map[[2]int64][]byte{}
	var key [2]int64
	var spec []byte
	_, err = pgx.ForEachRow(rows, []any{&key[0], &key[1], &spec}, func() error {
		specs[key] = append([]byte{}, spec...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read specs of apps: %w", err)
	}
	return specs, nil
}

func (s *Store) revisions(ctx context.Context, where string, args ...any) ([]Revision, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+revisionColumns+` FROM app_revisions r WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read revisions of an app: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Revision, err error) { return r, row.Scan(r.targets()...) })
	if err != nil {
		return nil, fmt.Errorf("read revisions of an app: %w", err)
	}
	return found, nil
}

// Gone reads the replicas of an app that are gone, the last first.
func (s *Store) Gone(ctx context.Context, id int64, limit int) ([]Replica, error) {
	rows, err := s.pool.Query(ctx, `SELECT name, revision, replica, gone_at FROM app_replicas WHERE app_id = $1 ORDER BY gone_at DESC, name LIMIT $2`, id, limit)
	if err != nil {
		return nil, fmt.Errorf("read replicas that are gone: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Replica, err error) {
		return r, row.Scan(&r.Name, &r.Revision, &r.Replica, &r.GoneAt)
	})
	if err != nil {
		return nil, fmt.Errorf("read replicas that are gone: %w", err)
	}
	return found, nil
}
