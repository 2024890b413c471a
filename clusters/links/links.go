// Package links is the API's end of the links that controllers open: it records who is there and what their clusters have, sends
// orders, and passes logs on to the replica of the API that was asked for them. It builds on clusters/store.
package links

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// heartbeat is how often an idle link sends a sign of life. Controllers give a link up after 15 s of silence.
	heartbeat = 3 * time.Second
	// maxAge is when a link ends cleanly, so that links spread over replicas again. Each one's limit is up to a fifth lower.
	maxAge = 10 * time.Minute
)

// Deps are the dependencies. All are required, except Version, which is empty for a program that was built without one, and PodPolicy.
type Deps struct {
	Store   *store.Store
	States  *states.Reader
	Version string
	// PodPolicy returns an error in words for a text that is not the report of a policy of pods; nil takes all.
	PodPolicy func(text string) error
	Clock     clock.Clock
	Logger    zerolog.Logger
	Meters    *Meters
}

// Links serves ClusterLinkService and ClusterLogService.
type Links struct {
	deps    Deps
	replica string // this process, in the rows of links

	mu   sync.Mutex
	held map[string]*stream.Hub[orders] // GUARDED_BY(mu): by id of the link
	read map[string]*tail               // GUARDED_BY(mu): the logs that are read here, by id
}

var (
	_ clustersv1connect.ClusterLinkServiceHandler = (*Links)(nil)
	_ clustersv1connect.ClusterLogServiceHandler  = (*Links)(nil)
)

// New returns the links of one replica of the API.
func New(deps Deps) *Links {
	return &Links{deps: deps, replica: newID(), held: map[string]*stream.Hub[orders]{}, read: map[string]*tail{}}
}

// newID is a text that no other has.
func newID() string { return strings.ToLower(rand.Text()) }

// Mount registers the handlers.
func (l *Links) Mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	r.Handle(clustersv1connect.NewClusterLinkServiceHandler(l, options))
	r.Handle(clustersv1connect.NewClusterLogServiceHandler(l, options))
}

// Changed makes every link look at what operators want of its cluster.
func (l *Links) Changed() {
	for _, hub := range l.hubs() {
		hub.Broadcast(func(o *orders) { o.look = true })
	}
}

func (l *Links) hubs() (hubs []*stream.Hub[orders]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, hub := range l.held {
		hubs = append(hubs, hub)
	}
	return hubs
}

// Hear takes a notification of store.TailChannel.
func (l *Links) Hear(n pgdb.Notification) {
	if n.Resync {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, one := range l.read {
			one.wake()
		}
		return
	}
	note, err := decode(n.Payload)
	if err != nil {
		l.deps.Logger.Warn().Err(err).Msg("a notification about a log of a cluster cannot be read")
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.read[note.tail]; one != nil && note.order == nil {
		one.wake()
	}
	if hub := l.held[note.link]; hub != nil && note.order != nil {
		hub.Broadcast(func(o *orders) { o.tails = append(o.tails, note.order) })
	}
}

// Held is how many links and logs this replica has, for metrics.
func (l *Links) Held() (links, tails int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held), len(l.read)
}

// orders are what a link has not sent yet.
type orders struct {
	tails []*clustersv1.TailOrder
	look  bool // at what operators want
}

// checkVersion returns a FailedPrecondition error in words if a controller is not of a version that works with this API.
func (l *Links) checkVersion(r *clustersv1.ConnectRequest) error {
	if Compatible(r.GetVersion(), l.deps.Version) {
		return nil
	}
	return rpc.FailedPrecondition("the controller of cluster %s is of version %s, and the API of version %s: versions work together if they are at most "+
		"one minor version apart. Bring the older one to the version before the newer one first", r.GetCluster(), r.GetVersion(), l.deps.Version)
}

func (d *Deps) checkPodPolicy(text string) error {
	if text == "" || d.PodPolicy == nil {
		return nil
	}
	if err := d.PodPolicy(text); err != nil {
		return rpc.InvalidArgument("pod_policy", "%s", err)
	}
	return nil
}

// wantedOf is what operators want of a cluster. One that is not known is to be ready.
func (l *Links) wantedOf(ctx context.Context, cluster string) (clustersv1.ClusterState, error) {
	all, err := l.deps.States.All(ctx)
	if err != nil {
		return clustersv1.ClusterState_CLUSTER_STATE_UNSPECIFIED, fmt.Errorf("read what is wanted of cluster %s: %w", cluster, err)
	}
	for _, one := range all {
		if one.Name == cluster {
			return Wanted(one.State), nil
		}
	}
	return clustersv1.ClusterState_CLUSTER_STATE_READY, nil
}

// Wanted is the message for a state.
func Wanted(state string) clustersv1.ClusterState {
	switch state {
	case states.Cordoned:
		return clustersv1.ClusterState_CLUSTER_STATE_CORDONED
	case states.Draining:
		return clustersv1.ClusterState_CLUSTER_STATE_DRAINING
	default:
		return clustersv1.ClusterState_CLUSTER_STATE_READY
	}
}
