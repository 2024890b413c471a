package taskactions_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// engine is a fake engine API whose live set the test controls.
type engine struct {
	enginev1connect.UnimplementedEngineServiceHandler

	mu          sync.Mutex
	live        map[int64]*enginev1.Assignment                       // GUARDED_BY(mu)
	subscribers map[chan *enginev1.WatchAssignmentsResponse]struct{} // GUARDED_BY(mu)
	subscribed  int                                                  // GUARDED_BY(mu)
	asked       [][]int64                                            // GUARDED_BY(mu): uids of each GetAssignments
	phases      map[string]common.ActionPhase                        // GUARDED_BY(mu): by name; unknown actions are not found
	away        bool                                                 // GUARDED_BY(mu)
	clean       bool                                                 // GUARDED_BY(mu): streams end without an error
}

func newEngine() *engine {
	return &engine{live: map[int64]*enginev1.Assignment{}, subscribers: map[chan *enginev1.WatchAssignmentsResponse]struct{}{}}
}

func (e *engine) WatchAssignments(ctx context.Context, _ *enginev1.WatchAssignmentsRequest, stream *connect.ServerStream[enginev1.WatchAssignmentsResponse]) error {
	e.mu.Lock()
	if e.away {
		e.mu.Unlock()
		return rpc.Unavailable(nil, "away")
	}
	changes := make(chan *enginev1.WatchAssignmentsResponse, 1000)
	e.subscribers[changes] = struct{}{}
	e.subscribed++
	page := &enginev1.LiveActions{}
	for _, a := range e.live {
		page.Refs = append(page.Refs, a.GetRef())
	}
	e.mu.Unlock()
	if err := stream.Send(&enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Live{Live: page}}); err != nil {
		return err
	}
	if err := stream.Send(&enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Sentinel{}}); err != nil {
		return err
	}
	for {
		select {
		case message, ok := <-changes:
			if !ok {
				return e.end()
			}
			if err := stream.Send(message); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *engine) GetAssignments(_ context.Context, r *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, r.GetUids())
	response := &enginev1.GetAssignmentsResponse{}
	for _, uid := range r.GetUids() {
		if a, ok := e.live[uid]; ok {
			response.Assignments = append(response.Assignments, a)
		}
	}
	return response, nil
}

func (e *engine) GetActionStorage(_ context.Context, r *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := ident.ActionOf(r.GetActionId())
	phase, ok := e.phases[id.Name]
	if !ok || id.Run != (ident.Run{Project: "proj", Domain: "dev", Name: "r"}) {
		return nil, rpc.NotFound("no action %s", id)
	}
	return &enginev1.GetActionStorageResponse{Phase: phase}, nil
}

// assign makes an action live; told says whether subscribers are notified.
func (e *engine) assign(a *enginev1.Assignment, told bool) {
	e.change(func() { e.live[a.GetRef().GetUid()] = a }, told,
		&enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Assignment{Assignment: a}})
}

func (e *engine) release(a *enginev1.Assignment, told bool) {
	e.change(func() { delete(e.live, a.GetRef().GetUid()) }, told,
		&enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Release{Release: &enginev1.Release{Ref: a.GetRef()}}})
}

func (e *engine) change(apply func(), told bool, message *enginev1.WatchAssignmentsResponse) {
	e.mu.Lock()
	defer e.mu.Unlock()
	apply()
	if told {
		for s := range e.subscribers {
			s <- message
		}
	}
}

// breakStreams ends every stream with an error.
func (e *engine) breakStreams(away bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.away, e.clean = away, false
	e.endAll()
}

// endStreams ends every stream without an error, as at its age.
func (e *engine) endStreams() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clean = true
	e.endAll()
}

func (e *engine) end() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clean {
		return nil
	}
	return rpc.Unavailable(nil, "broken")
}

// endAll is for callers that hold mu.
func (e *engine) endAll() {
	for s := range e.subscribers {
		close(s)
		delete(e.subscribers, s)
	}
}

func (e *engine) subscriptions() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.subscribed
}

// events records what was reported.
type events struct {
	mu       sync.Mutex
	reported []*enginev1.Transition // GUARDED_BY(mu)
}

func (e *events) Record(_ context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reported = append(e.reported, transitions...)
	return []enginev1.TransitionOutcome{enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED}, nil
}

func (e *events) all() []*enginev1.Transition {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reported
}

// executor retains the objects that the test names.
type executor struct {
	mu       sync.Mutex
	finished func(*v1.TaskAction)
	retained map[string]bool // GUARDED_BY(mu): by name of the object
	asks     map[string]int  // GUARDED_BY(mu)
	pods     map[int64]bool  // GUARDED_BY(mu): by id of the action
	unseen   map[int64]bool  // GUARDED_BY(mu): actions with pods that the cache does not show
	full     chan struct{}   // GUARDED_BY(mu): closed when there is room again; nil when there is room
}

func (e *executor) AwaitRoom(ctx context.Context, _ int) {
	e.mu.Lock()
	full := e.full
	e.mu.Unlock()
	if full == nil {
		return
	}
	select {
	case <-full:
	case <-ctx.Done():
	}
}

// fill lets new objects wait until the function that it returns is called.
func (e *executor) fill() (room func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	full := make(chan struct{})
	e.full = full
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.full = nil
		close(full)
	}
}

func (e *executor) Retains(_ int, object types.NamespacedName, _ types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asks == nil {
		e.asks = map[string]int{}
	}
	e.asks[object.Name]++
	return e.retained[object.Name]
}

// HoldsPods implements Executor: an action has pods for as long as they are noted.
func (e *executor) HoldsPods(_ int, uid int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pods[uid]
}

// LivePods implements Executor: what the cache does not show has pods, too.
func (e *executor) LivePods(_ context.Context, _ int, uids []int64) (held []int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, uid := range uids {
		if e.pods[uid] || e.unseen[uid] {
			held = append(held, uid)
		}
	}
	return held, nil
}

// setPods notes whether an action has pods.
func (e *executor) setPods(uid int64, has bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pods == nil {
		e.pods = map[int64]bool{}
	}
	e.pods[uid] = has
}

// setUnseen notes whether an action has pods that the cache does not show.
func (e *executor) setUnseen(uid int64, has bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unseen == nil {
		e.unseen = map[int64]bool{}
	}
	e.unseen[uid] = has
}

func (e *executor) NotifyFinished(finished func(*v1.TaskAction)) { e.finished = finished }

func (e *executor) retain(a *enginev1.Assignment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.retained == nil {
		e.retained = map[string]bool{}
	}
	e.retained[objectName(a)] = true
}

func (e *executor) drop(a *enginev1.Assignment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.retained, objectName(a))
}

func (e *executor) asked(a *enginev1.Assignment) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asks[objectName(a)]
}

func objectName(a *enginev1.Assignment) string {
	return taskactions.Name(ident.ActionOf(a.GetRef().GetId()), a.GetRef().GetUid())
}

// finish reports that the executor has finished with the object of an action.
func (f *fixture) finish(a *enginev1.Assignment) {
	f.t.Helper()
	object := taskactions.FromAssignment(a, f.cluster.Namespace)
	if err := f.cluster.Client.Get(context.Background(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
		require.NoError(f.t, err)
	}
	f.executor.finished(object)
}

func assignment(uid int64, name string) *enginev1.Assignment {
	action := ident.Action{Run: ident.Run{Project: "proj", Domain: "dev", Name: "r"}, Name: name}
	return &enginev1.Assignment{
		Ref:           &enginev1.ActionRef{Uid: uid, Id: action.Proto()},
		Task:          &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Type: "python"}}},
		RunOutputBase: "/data/proj/dev/r/",
		Attempt:       1,
	}
}

// fixture is an owner between a fake engine API and a real API server.
type fixture struct {
	t        *testing.T
	cluster  *kubetest.Cluster
	engine   *engine
	events   *events
	executor *executor
	config   taskactions.Config
	kube     *rest.Config
	meter    metric.MeterProvider
	leader   taskactions.Leader // nil for all shards

	installation string
	own          string      // namespace of the server
	clock        *clock.Fake // nil for the system's
	doubtful     atomic.Bool // the control plane may have taken actions back
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, cluster: kubetest.New(t), engine: newEngine(), events: &events{}, executor: &executor{}, config: taskactions.DefaultConfig()}
	f.kube = f.cluster.Config
	f.config.Namespace = f.cluster.Namespace
	f.config.RecreateDelay = time.Millisecond
	f.config.Backoff = backoff.Config{First: time.Millisecond, Max: 20 * time.Millisecond}
	return f
}

func (f *fixture) start() *taskactions.Owner {
	f.t.Helper()
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(enginev1connect.NewEngineServiceHandler(f.engine, mux.Options()...))
	deps := taskactions.Deps{
		Kubernetes: f.kube, Events: f.events, Executor: f.executor, Leader: f.leader, Meter: f.meter, Doubtful: f.doubtful.Load, Installation: f.installation, OwnNamespace: f.own, Logger: zerolog.New(zerolog.NewTestWriter(f.t)),
		Engine: enginev1connect.NewEngineServiceClient(rpc.InProcess(mux), rpc.InProcessURL),
	}
	if f.clock != nil {
		deps.Clock = f.clock
	}
	b, err := taskactions.New(f.config, deps)
	require.NoError(f.t, err)
	require.NoError(f.t, b.Start(f.t.Context()))
	f.t.Cleanup(func() { require.NoError(f.t, b.Stop(context.Background())) })
	return b
}

// actions are the names of the actions that have objects in the namespace, joined.
func (f *fixture) actions(namespace string) string {
	var list v1.TaskActionList
	require.NoError(f.t, f.cluster.Client.List(context.Background(), &list, client.InNamespace(namespace)))
	var names []string
	for _, object := range list.Items {
		names = append(names, object.Spec.Action)
	}
	return strings.Join(names, " ")
}

func (f *fixture) eventually(want string) {
	f.t.Helper()
	var got string
	require.Eventually(f.t, func() bool { got = f.actions(f.cluster.Namespace); return got == want }, 20*time.Second, 5*time.Millisecond,
		"want %q", want, fmt.Sprintf("got %q", got))
}
