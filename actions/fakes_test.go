package actions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/status"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/actions"
	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	actionspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

var run = ident.Run{Project: "p", Domain: "d", Name: "r"}

func id(name string) *common.ActionIdentifier {
	return ident.Action{Run: run, Name: name}.Proto()
}

// recorder is a runs service that answers as the test says.
type recorder struct {
	body *status.Status
	err  error
	wait bool // until the call's context ends

	mu       sync.Mutex
	recorded []*workflow.RecordActionRequest       // GUARDED_BY(mu)
	updated  []*workflow.UpdateActionStatusRequest // GUARDED_BY(mu)
}

func (r *recorder) RecordAction(ctx context.Context, request *workflow.RecordActionRequest) (*workflow.RecordActionResponse, error) {
	r.mu.Lock()
	r.recorded = append(r.recorded, request)
	r.mu.Unlock()
	if r.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if r.err != nil {
		return nil, r.err
	}
	return &workflow.RecordActionResponse{ActionId: request.GetActionId(), Status: r.body}, nil
}

func (r *recorder) UpdateActionStatus(_ context.Context, request *workflow.UpdateActionStatusRequest) (*workflow.UpdateActionStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updated = append(r.updated, request)
	if r.err != nil {
		return nil, r.err
	}
	return &workflow.UpdateActionStatusResponse{ActionId: request.GetActionId(), Status: r.body}, nil
}

// runService remembers the runs that were aborted.
type runService struct{ aborted []*workflow.AbortRunRequest }

func (r *runService) AbortRun(_ context.Context, request *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error) {
	r.aborted = append(r.aborted, request)
	return &workflow.AbortRunResponse{}, nil
}

// engine serves one script for each subscription, in order; further ones get the last script.
type engine struct {
	enginev1connect.UnimplementedEngineServiceHandler
	scripts []script

	mu            sync.Mutex
	subscriptions int // GUARDED_BY(mu)
}

type script func(ctx context.Context, send func(*actionspb.WatchForUpdatesResponse)) error

func (e *engine) WatchChildren(ctx context.Context, r *enginev1.WatchChildrenRequest, stream *connect.ServerStream[enginev1.WatchChildrenResponse]) error {
	if r.GetParent().GetName() == "unknown" {
		return rpc.NotFound("no such action")
	}
	e.mu.Lock()
	play := e.scripts[min(e.subscriptions, len(e.scripts)-1)]
	e.subscriptions++
	e.mu.Unlock()
	return play(ctx, func(message *actionspb.WatchForUpdatesResponse) {
		_ = stream.Send(&enginev1.WatchChildrenResponse{Message: message})
	})
}

func update(name string, phase common.ActionPhase) *actionspb.WatchForUpdatesResponse {
	return &actionspb.WatchForUpdatesResponse{Message: &actionspb.WatchForUpdatesResponse_ActionUpdate{
		ActionUpdate: &workflow.ActionUpdate{ActionId: id(name), Phase: phase},
	}}
}

func sentinel() *actionspb.WatchForUpdatesResponse {
	return &actionspb.WatchForUpdatesResponse{Message: &actionspb.WatchForUpdatesResponse_ControlMessage{
		ControlMessage: &workflow.ControlMessage{Sentinel: true},
	}}
}

// noEvents is for tests in which no TaskAction is refused.
type noEvents struct{ taskactions.Events }

// fixture is the service over fakes, and its clients.
type fixture struct {
	recorder *recorder
	runs     *runService
	engine   *engine
	clock    *clock.Fake
	actions  actionsconnect.ActionsServiceClient
	queue    workflowconnect.QueueServiceClient
	state    workflowconnect.StateServiceClient
}

func newFixture(t *testing.T, config actions.Config, scripts ...script) *fixture {
	t.Helper()
	f := &fixture{
		recorder: &recorder{}, runs: &runService{}, engine: &engine{scripts: scripts}, clock: clock.NewFake(time.Unix(0, 0)),
	}
	chain := rpc.Interceptors(rpc.Chain{Log: zerolog.New(zerolog.NewTestWriter(t))})
	upstream := rpc.NewMux(chain)
	upstream.Handle(enginev1connect.NewEngineServiceHandler(f.engine, upstream.Options()...))
	service, err := actions.New(config, actions.Deps{
		Recorder:   f.recorder,
		Runs:       f.runs,
		States:     enginev1connect.NewActionStateServiceClient(rpc.InProcess(upstream), rpc.InProcessURL),
		Engine:     enginev1connect.NewEngineServiceClient(rpc.InProcess(upstream), rpc.InProcessURL),
		Events:     noEvents{},
		Kubernetes: &rest.Config{Host: "http://127.0.0.1:0"},
		Clock:      f.clock,
		Logger:     zerolog.New(zerolog.NewTestWriter(t)),
	})
	require.NoError(t, err)
	mux := rpc.NewMux(chain)
	service.Mount(mux)
	f.actions = actionsconnect.NewActionsServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	f.queue = workflowconnect.NewQueueServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	f.state = workflowconnect.NewStateServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	return f
}
