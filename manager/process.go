package manager

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/apps/gateway"
	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/clusters/outgoing"
	"github.com/flyte-binary/flyte-binary/events"
	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/leader"
	"github.com/flyte-binary/flyte-binary/manager/port"
	"github.com/flyte-binary/flyte-binary/manager/system"
	"github.com/flyte-binary/flyte-binary/runs"
)

// process is what the modules of one process share. A module may read a field only if the table says that it comes after
// the module that sets it.
type process struct {
	// Set before the first module.
	config    configuration.Config
	options   Options
	log       zerolog.Logger
	clock     clock.Clock
	listener  net.Listener
	telemetry *obs.Telemetry
	chain     rpc.Chain
	mutual    certfiles.Mutual
	mux       *rpc.Mux
	peers     peers
	open      bool               // every caller may do everything
	pace      *apipace.Meter     // of the calls to the API server, by this process and by the node of a demo
	beginStop context.CancelFunc // ends the streams of clients
	draining  atomic.Bool        // it serves, and new callers are to go elsewhere

	// Set by the module of the same name.
	pool         *pgxpool.Pool // database
	notices      *pgdb.Listener
	replicas     *pgdb.Replicas
	installation string // configuration, else database
	blobs        *blobstore.Store
	cluster      *rest.Config     // kubernetes
	leader       *leader.Election // election; nil where a single process always leads
	owned        *rest.Config     // kubernetes, election: for work on what this replica owns; it writes nothing while others may own it
	runs         *runs.Service
	events       *events.Service
	executor     *executor.Service
	gateway      *gateway.Service
	access       *access.Service
	clusters     *clusters.Service
	link         *outgoing.Service // link
	console      http.Handler
	port         *port.Port

	checks  system.Checks // of every module that can fail while the process runs
	closers []func(context.Context) error
}

// check adds a check to the readiness of the process.
func (p *process) check(name string, run func(context.Context) error) {
	p.checks = append(p.checks, system.Check{Name: name, Run: run})
}

// degrades adds a check whose failure leaves the process ready, but degraded.
func (p *process) degrades(name string, run func(context.Context) error) {
	p.checks = append(p.checks, system.Check{Name: name, Run: run, Soft: true})
}

// owner is the value of the label by which the objects of this controller are known in its cluster. The default cluster
// has the plain id of the installation.
func (p *process) owner() string {
	if p.config.Cluster.ID == ident.DefaultCluster {
		return p.installation
	}
	return p.installation + "-" + p.config.Cluster.ID
}

// errDraining is why a process is not ready while it drains.
var errDraining = errors.New("the process is stopping")

// ready returns nil unless the process cannot serve, or is about to stop.
func (p *process) ready(ctx context.Context) error {
	if p.draining.Load() {
		return errDraining
	}
	return p.checks.Ready(ctx)
}

// serveReady is /readyz.
func (p *process) serveReady(w http.ResponseWriter, r *http.Request) {
	if p.draining.Load() {
		http.Error(w, errDraining.Error(), http.StatusServiceUnavailable)
		return
	}
	p.checks.ServeHTTP(w, r)
}

// onClose registers f to be called at the end, before what was opened earlier is closed.
func (p *process) onClose(f func(context.Context) error) { p.closers = append(p.closers, f) }

// close closes what was opened, last first.
func (p *process) close(ctx context.Context) error {
	var failures []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		failures = append(failures, p.closers[i](ctx))
	}
	p.closers = nil
	return errors.Join(failures...)
}
