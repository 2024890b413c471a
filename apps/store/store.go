// Package store keeps apps, their revisions, their history and their load in Postgres. It decides nothing: callers pass
// functions that judge rows under lock. It serves apps and knows no messages of the contract but list requests.
package store

import (
	"embed"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// LeaseTable is the table of the service's leases.
	LeaseTable = "app_leases"
	// Channel is where changes are announced; the payload is the id of the app.
	Channel = "flyte_apps"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables. They share the database of the runs service, since retention must see in one statement
// what an app uses.
func Schema() pgdb.Schema { return pgdb.Embedded("apps", migrations) }

// InUse is a condition over the root a of a run, for the retention of the runs service: an app uses outputs of the run.
// namespace is the Postgres schema of the service's tables.
func InUse(namespace string) string {
	return `EXISTS (SELECT FROM ` + namespace + `.app_runs u WHERE (u.project, u.domain, u.run) = (a.project, a.domain, a.run_name))`
}

// Store reads and writes apps.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
}

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool, clk clock.Clock) *Store { return &Store{pool: pool, clock: clk} }

// Key names an app.
type Key struct{ Project, Domain, Name string }

// String is for messages.
func (k Key) String() string { return k.Project + "/" + k.Domain + "/" + k.Name }

// App is a row of apps.
type App struct {
	ID  int64
	UID string
	Key
	// Cluster is the first that runs it; empty while it waits for one.
	Cluster string
	// Others are further clusters that run it, Leaving those that run it until another one does.
	Others, Leaving []string
	// Waits says why no cluster runs it.
	Waits         string
	Subdomain     string
	CName         *string
	Revision      int64
	Spec          []byte
	DesiredState  int16
	Labels        map[string]string
	CodeBundleURI string
	SourceCode    []byte
	CreatedBy     string
	// Foreign says that an operator of its own runs the app.
	Foreign    bool
	State      []byte
	Observed   []byte
	ObservedAt *time.Time
	// Ready counts the replicas that accept requests.
	Ready      int32
	Status     int16
	CreatedAt  time.Time
	UpdatedAt  time.Time
	StartedAt  *time.Time
	EventSeq   int64
	Version    int64
	RunVersion int64
	NextAt     *time.Time
}

// Columns and targets in the same order.
const appColumns = `a.id, a.uid, a.project, a.domain, a.name, a.cluster, a.subdomain, a.cname, a.revision, a.spec, a.desired_state,
	a.labels, a.code_bundle_uri, a.source_code, a.created_by, a.foreign_run, a.state, a.observed, a.observed_at, a.ready, a.status,
	a.created_at, a.updated_at, a.started_at, a.event_seq, a.version, a.run_version, a.next_at,
	a.others, a.leaving, a.waits`

func (a *App) targets() []any {
	return []any{
		&a.ID, &a.UID, &a.Project, &a.Domain, &a.Name, &a.Cluster, &a.Subdomain, &a.CName, &a.Revision, &a.Spec, &a.DesiredState,
		&a.Labels, &a.CodeBundleURI, &a.SourceCode, &a.CreatedBy, &a.Foreign, &a.State, &a.Observed, &a.ObservedAt, &a.Ready, &a.Status,
		&a.CreatedAt, &a.UpdatedAt, &a.StartedAt, &a.EventSeq, &a.Version, &a.RunVersion, &a.NextAt,
		&a.Others, &a.Leaving, &a.Waits,
	}
}

// Revision is a row of app_revisions.
type Revision struct {
	Revision  int64
	Spec      []byte
	CreatedAt time.Time
	CreatedBy []byte
	Reason    string
	// Restores is the revision whose spec it repeats; 0 for none.
	Restores int64
	State    int16
	Message  string
}

const revisionColumns = `r.revision, r.spec, r.created_at, r.created_by, r.reason, r.restores, r.state, r.message`

func (r *Revision) targets() []any {
	return []any{&r.Revision, &r.Spec, &r.CreatedAt, &r.CreatedBy, &r.Reason, &r.Restores, &r.State, &r.Message}
}

// Event is a row of app_events.
type Event struct {
	AppID    int64
	Seq      int64
	Time     time.Time
	Revision int64
	Status   int16
	Substate int16
	Message  string
	// Actor is nil for the system.
	Actor []byte
}

const eventColumns = `e.app_id, e.seq, e.time, e.revision, e.status, e.substate, e.message, e.actor`

func (e *Event) targets() []any {
	return []any{&e.AppID, &e.Seq, &e.Time, &e.Revision, &e.Status, &e.Substate, &e.Message, &e.Actor}
}

// Artifact is a version of an artifact that an app uses.
type Artifact struct{ Project, Domain, Name, Version string }

// Replica is a replica that is gone and whose log is kept.
type Replica struct {
	Name     string
	Revision int64
	Replica  []byte
	GoneAt   time.Time
}
