package actions_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/actions"
	"github.com/flyte-binary/flyte-binary/events"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	actionspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// system is the service on the real runs service and a real database.
type system struct {
	actions actionsconnect.ActionsServiceClient
	runs    workflowconnect.RunServiceClient
	state   workflowconnect.StateServiceClient
	sink    *events.Sink
	run     ident.Run
	base    string
}

func newSystem(t *testing.T) *system {
	t.Helper()
	config := blobstore.DefaultConfig()
	config.URL = t.TempDir()
	blobs, err := blobstore.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = blobs.Close() })
	machine, err := runs.New(runs.DefaultConfig(), runs.Deps{Pool: pgtest.New(t, store.Migrations()), Blobs: blobs, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, machine.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, machine.Stop(context.Background())) })

	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	machine.Mount(mux)
	client := rpc.InProcess(mux)
	s := &system{
		runs:    workflowconnect.NewRunServiceClient(client, rpc.InProcessURL),
		actions: actionsconnect.NewActionsServiceClient(client, rpc.InProcessURL),
		state:   workflowconnect.NewStateServiceClient(client, rpc.InProcessURL),
		run:     ident.Run{Project: "flytesnacks", Domain: "development", Name: "parent"},
	}
	engineClient := enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	service, err := actions.New(actions.DefaultConfig(), actions.Deps{
		Recorder: workflowconnect.NewInternalRunServiceClient(client, rpc.InProcessURL), Engine: engineClient, Runs: s.runs, Events: noEvents{},
		States:     enginev1connect.NewActionStateServiceClient(client, rpc.InProcessURL),
		Kubernetes: &rest.Config{Host: "http://127.0.0.1:0"},
	})
	require.NoError(t, err)
	service.Mount(mux)
	reports, err := events.New(events.DefaultConfig(), events.Deps{Engine: engineClient})
	require.NoError(t, err)
	require.NoError(t, reports.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, reports.Stop(context.WithoutCancel(t.Context()))) })
	s.sink = reports.Sink()
	_, err = s.runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: s.run.Proto()}, Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: python("parent")},
	})
	require.NoError(t, err)
	storage, err := engineClient.GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: s.run.Root().Proto()})
	require.NoError(t, err)
	s.base = storage.GetRunOutputBase()
	return s
}

func python(name string) *task.TaskSpec {
	return &task.TaskSpec{
		ShortName: name, Environment: &task.Environment{Name: "env"},
		TaskTemplate: &core.TaskTemplate{
			Id: &core.Identifier{
				ResourceType: core.ResourceType_TASK, Project: "flytesnacks", Domain: "development", Name: "env." + name, Version: "v1",
			},
			Type: "python", Interface: &core.TypedInterface{}, Metadata: &core.TaskMetadata{},
			Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "image", Args: []string{"a0"}}},
		},
	}
}

func (s *system) enqueue(ctx context.Context, parent, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // as the SDK does
	defer cancel()
	_, err := s.actions.Enqueue(ctx, &actionspb.EnqueueRequest{Action: &actionspb.Action{
		ActionId: ident.Action{Run: s.run, Name: name}.Proto(), ParentActionName: &parent,
		InputUri: s.base + name + "/inputs.pb", RunOutputBase: s.base,
		Spec: &actionspb.Action_Task{Task: &workflow.TaskAction{Spec: python("child")}},
	}})
	return err
}

func (s *system) watch(t *testing.T) *watchStream {
	t.Helper()
	stream, err := s.actions.WatchForUpdates(t.Context(), &actionspb.WatchForUpdatesRequest{
		Filter: &actionspb.WatchForUpdatesRequest_ParentActionId{ParentActionId: s.run.Root().Proto()},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = stream.Close() })
	for stream.Receive() && !stream.Msg().GetControlMessage().GetSentinel() {
		continue
	}
	require.NoError(t, stream.Err())
	return stream
}

// until receives until the child has the phase.
func until(t *testing.T, stream *watchStream, name string, phase common.ActionPhase) *workflow.ActionUpdate {
	t.Helper()
	for stream.Receive() {
		if u := stream.Msg().GetActionUpdate(); u.GetActionId().GetName() == name && u.GetPhase() == phase {
			return u
		}
	}
	require.NoError(t, stream.Err())
	require.Fail(t, "the stream ended")
	return nil
}

func TestAStormOfEnqueuesCreatesEachActionOnce(t *testing.T) {
	s := newSystem(t)
	stream := s.watch(t)
	const children, repeats, workers = 200, 3, 60
	work := make(chan string)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for name := range work {
				require.NoError(t, s.enqueue(t.Context(), "a0", name))
			}
		})
	}
	for range repeats {
		for i := range children {
			work <- fmt.Sprintf("c%d", i)
		}
	}
	close(work)
	seen := map[string]bool{}
	for len(seen) < children && stream.Receive() {
		if u := stream.Msg().GetActionUpdate(); u != nil {
			seen[u.GetActionId().GetName()] = true
		}
	}
	require.NoError(t, stream.Err())
	group.Wait()

	total, token := 0, ""
	for {
		page, err := s.runs.ListActions(t.Context(), &workflow.ListActionsRequest{
			RunId: s.run.Proto(), Request: &common.ListRequest{Limit: 100, Token: token},
		})
		require.NoError(t, err)
		total += len(page.GetActions())
		if token = page.GetToken(); token == "" {
			break
		}
	}
	require.Equal(t, children+1, total)
}

func TestTheParentSeesHowItsChildrenEnd(t *testing.T) {
	s := newSystem(t)
	stream := s.watch(t)
	require.NoError(t, s.enqueue(t.Context(), "a0", "good"))
	require.NoError(t, s.enqueue(t.Context(), "a0", "bad"))
	require.NoError(t, s.enqueue(t.Context(), "a0", "unwanted"))
	record := func(name string, phase common.ActionPhase, failure *core.ExecutionError) {
		t.Helper()
		outcomes, err := s.sink.Record(t.Context(), []*enginev1.Transition{{
			Event: &workflow.ActionEvent{
				Id: ident.Action{Run: s.run, Name: name}.Proto(), Attempt: 1, Phase: phase,
				Outputs: &task.OutputReferences{OutputUri: s.base + name + "/1/outputs.pb"},
			},
			Error: failure,
		}})
		require.NoError(t, err)
		require.Equal(t, []enginev1.TransitionOutcome{enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED}, outcomes)
	}
	record("good", succeeded, nil)
	require.Equal(t, s.base+"good/1", until(t, stream, "good", succeeded).GetOutputUri(), "the directory, to which the SDK adds the file")
	record("bad", common.ActionPhase_ACTION_PHASE_FAILED, &core.ExecutionError{Code: "ValueError", Message: "no", Kind: core.ExecutionError_USER})
	require.Equal(t, "ValueError", until(t, stream, "bad", common.ActionPhase_ACTION_PHASE_FAILED).GetError().GetCode())

	_, err := s.actions.Abort(t.Context(), &actionspb.AbortRequest{
		ActionId: ident.Action{Run: s.run, Name: "unwanted"}.Proto(), Reason: proto.String("cancelled by its parent"), AbortedBy: ada(),
	})
	require.NoError(t, err)
	until(t, stream, "unwanted", common.ActionPhase_ACTION_PHASE_ABORTED)
	details, err := s.runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: ident.Action{Run: s.run, Name: "unwanted"}.Proto()})
	require.NoError(t, err)
	require.Equal(t, "cancelled by its parent", details.GetDetails().GetAbortInfo().GetReason())
	require.Equal(t, "ada", details.GetDetails().GetAbortInfo().GetAbortedBy().GetUser().GetId().GetSubject())
	_, err = s.actions.Abort(t.Context(), &actionspb.AbortRequest{ActionId: ident.Action{Run: s.run, Name: "unwanted"}.Proto()})
	require.NoError(t, err, "a terminal action stays as it is")
	_, err = s.actions.Abort(t.Context(), &actionspb.AbortRequest{ActionId: ident.Action{Run: s.run, Name: "none"}.Proto()})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

// The address that a client reports of an attempt is kept nowhere, so no parent is sent to it.
func TestNoParentIsGivenAnAddress(t *testing.T) {
	s := newSystem(t)
	stream := s.watch(t)
	require.NoError(t, s.enqueue(t.Context(), "a0", "child"))
	_, err := s.actions.Update(t.Context(), &actionspb.UpdateRequest{
		ActionId: ident.Action{Run: s.run, Name: "child"}.Proto(), Attempt: 1,
		Address: &common.ActionAddress{Url: "https://example.com/x", Pod: &common.PodAddress{Ip: "10.0.0.1"}},
		Status:  &workflow.ActionStatus{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, Attempts: 1},
	})
	require.NoError(t, err)
	require.Nil(t, until(t, stream, "child", common.ActionPhase_ACTION_PHASE_RUNNING).GetAddress())
}

func TestEnqueueWithoutALiveParent(t *testing.T) {
	s := newSystem(t)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(s.enqueue(t.Context(), "none", "c")), "unknown parent")
	unknown := *s
	unknown.run.Name = "other"
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(unknown.enqueue(t.Context(), "a0", "c")), "unknown run")
	elsewhere := *s
	elsewhere.run.Domain = "staging"
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(elsewhere.enqueue(t.Context(), "a0", "c")), "same name in another domain")
	_, err := s.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: s.run.Proto()})
	require.NoError(t, err)
	require.Equal(t, connect.CodeAborted, connect.CodeOf(s.enqueue(t.Context(), "a0", "late")))
}

func TestSignals(t *testing.T) {
	s := newSystem(t)
	stream := s.watch(t)
	_, err := s.actions.Enqueue(t.Context(), &actionspb.EnqueueRequest{Action: &actionspb.Action{
		ActionId: ident.Action{Run: s.run, Name: "approval"}.Proto(), ParentActionName: proto.String("a0"),
		InputUri: s.base + "approval/inputs.pb", RunOutputBase: s.base,
		Spec: &actionspb.Action_Condition{Condition: &workflow.ConditionAction{Name: "approve", Type: simple(core.SimpleType_BOOLEAN)}},
	}})
	require.NoError(t, err)
	require.NoError(t, s.enqueue(t.Context(), "a0", "child"))
	signal := func(name string, value *core.Primitive) connect.Code {
		_, err := s.actions.Signal(t.Context(), &actionspb.SignalRequest{
			ActionId: ident.Action{Run: s.run, Name: name}.Proto(), ParentActionName: "a0", Value: literal(value), SignalledBy: ada(),
		})
		if err == nil {
			return 0
		}
		return connect.CodeOf(err)
	}
	yes := &core.Primitive{Value: &core.Primitive_Boolean{Boolean: true}}
	require.Equal(t, connect.CodeNotFound, signal("none", yes))
	require.Equal(t, connect.CodeFailedPrecondition, signal("child", yes), "not a condition")
	require.Equal(t, connect.CodeInvalidArgument, signal("approval", &core.Primitive{Value: &core.Primitive_Integer{Integer: 1}}), "wrong type")
	require.Zero(t, signal("approval", yes))
	require.True(t, until(t, stream, "approval", succeeded).GetValue().GetScalar().GetPrimitive().GetBoolean())
	require.Zero(t, signal("approval", yes), "the same signal again")
	require.Equal(t, connect.CodeFailedPrecondition, signal("approval", &core.Primitive{Value: &core.Primitive_Boolean{}}), "a different signal")
}
