package triggers_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/artifacts"
	artifactstore "github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger/triggerconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/notifications"
	"github.com/flyte-binary/flyte-binary/runs"
	runstore "github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/triggers"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

const (
	projectID = "flytesnacks"
	domainID  = "development"
	taskName  = "env.main"
)

// waiting is how many timers there are when a scheduler is idle: those of its two loops and of its lease.
const waiting = 3

var monday = time.Date(2026, time.June, 1, 12, 0, 30, 0, time.UTC)

// fixture is the real runs service and the service of triggers, in one process, on one database and a clock of the test.
type fixture struct {
	t      testing.TB
	pool   *pgxpool.Pool
	clock  *clock.Fake
	blobs  *blobstore.Store
	mux    http.Handler
	outage atomic.Bool // of the runs service, as triggers see it
	// replicas is the pool of schedulers.
	replicas *pgxpool.Pool
	starts   atomic.Int64 // calls of StartTriggeredRun that store
	lost     atomic.Bool  // the answers of some of them are lost
	runs     workflowconnect.RunServiceClient
	engine   enginev1connect.EngineServiceClient
	tasks    taskconnect.TaskServiceClient
	api      triggerconnect.TriggerServiceClient
	insight  insightv1connect.TriggerInsightServiceClient

	artifacts artifactconnect.ArtifactServiceClient
	events    enginev1connect.ArtifactEventServiceClient
	lineage   insightv1connect.ArtifactInsightServiceClient
	forget    atomic.Bool // events stay though they were removed, as if the process had died before
}

func newFixture(t testing.TB, change func(*triggers.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, pool: pgtest.Schemas(t, runstore.Schema(), artifactstore.Schema(), store.Schema()), clock: clock.NewFake(monday)}
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL, config.Sync = t.TempDir(), "http://localhost", false
	f.replicas = f.pool
	var err error
	f.blobs, err = blobstore.Open(t.Context(), config)
	require.NoError(t, err)
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	f.mux = mux
	client := rpc.InProcess(mux)
	f.api = triggerconnect.NewTriggerServiceClient(client, rpc.InProcessURL)
	reviewer, err := notifications.NewReviewer(notifications.DefaultConfig())
	require.NoError(t, err)
	service, err := runs.New(runs.DefaultConfig(), runs.Deps{
		Pool: f.pool, Blobs: f.blobs, Logger: zerolog.Nop(), Launch: runs.Launch{Notifications: reviewer},
		Peers: runs.Peers{Triggers: f.api, TaskTriggers: enginev1connect.NewTaskTriggerServiceClient(client, rpc.InProcessURL)},
	})
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	service.Mount(mux)
	f.runs = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	f.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	f.tasks = taskconnect.NewTaskServiceClient(client, rpc.InProcessURL)
	f.insight = insightv1connect.NewTriggerInsightServiceClient(client, rpc.InProcessURL)
	f.artifacts = artifactconnect.NewArtifactServiceClient(client, rpc.InProcessURL)
	f.events = enginev1connect.NewArtifactEventServiceClient(client, rpc.InProcessURL)
	registry, err := artifacts.New(artifacts.DefaultConfig(), artifacts.Deps{
		Pool: f.pool, Blobs: f.blobs, Clock: f.clock, Logger: zerolog.Nop(), Engine: f.engine, Runs: f.runs,
		Projects: projectconnect.NewProjectServiceClient(client, rpc.InProcessURL),
		Uses:     enginev1connect.NewArtifactUseServiceClient(client, rpc.InProcessURL),
		AppUses:  nobody{},
	})
	require.NoError(t, err)
	registry.Mount(mux)
	f.lineage = insightv1connect.NewArtifactInsightServiceClient(client, rpc.InProcessURL)
	f.replica(change).Mount(mux)
	return f
}

// no one is an installation without apps.
type nobody struct{}

func (nobody) ListAppUses(context.Context, *enginev1.ListAppUsesRequest) (*enginev1.ListAppUsesResponse, error) {
	return &enginev1.ListAppUsesResponse{}, nil
}

// replica is a service of triggers that shares the database; its scheduler does not run before it is started.
func (f *fixture) replica(change func(*triggers.Config)) *triggers.Service {
	f.t.Helper()
	config := triggers.DefaultConfig()
	config.Lease = 100_000 * time.Hour // the clock jumps, and would end it
	if change != nil {
		change(&config)
	}
	service, err := triggers.New(config, triggers.Deps{
		Pool: f.replicas, Runs: f.runs, Tasks: f.tasks, Artifacts: f.artifacts, ArtifactEvents: &eventQueue{fixture: f, ArtifactEventServiceClient: f.events},
		ArtifactChannel: artifactstore.Channel, Clock: f.clock, Logger: zerolog.Nop(),
		Starter: &starter{fixture: f, TriggerRunServiceClient: enginev1connect.NewTriggerRunServiceClient(rpc.InProcess(f.mux), rpc.InProcessURL)},
	})
	require.NoError(f.t, err)
	return service
}

// start runs the scheduler of a replica until the test ends, or stop is called.
func (f *fixture) start(service *triggers.Service) (stop func()) {
	f.t.Helper()
	require.NoError(f.t, service.Start(f.t.Context()))
	var once sync.Once
	stop = func() {
		once.Do(func() { require.NoError(f.t, service.Stop(context.WithoutCancel(f.t.Context()))) })
	}
	f.t.Cleanup(stop)
	return stop
}

// starter is the real client, which an outage makes unavailable.
type starter struct {
	enginev1connect.TriggerRunServiceClient
	*fixture
}

func (s *starter) StartTriggeredRun(ctx context.Context, r *enginev1.StartTriggeredRunRequest) (*enginev1.StartTriggeredRunResponse, error) {
	if !r.GetCheckOnly() {
		s.starts.Add(1)
		if s.outage.Load() {
			return nil, rpc.Unavailable(nil, "the runs service is down")
		}
	}
	answer, err := s.TriggerRunServiceClient.StartTriggeredRun(ctx, r)
	if err == nil && !r.GetCheckOnly() && s.lost.Load() && rand.IntN(3) == 0 {
		return nil, rpc.Unavailable(nil, "the connection broke before the answer came")
	}
	return answer, err
}

// eventQueue is the real client. A process that dies between the fires and the removal of their events leaves the events.
type eventQueue struct {
	enginev1connect.ArtifactEventServiceClient
	*fixture
}

func (q *eventQueue) RemoveArtifactEvents(ctx context.Context, r *enginev1.RemoveArtifactEventsRequest) (*enginev1.RemoveArtifactEventsResponse, error) {
	if q.forget.Load() {
		return nil, rpc.Unavailable(nil, "the process died")
	}
	return q.ArtifactEventServiceClient.RemoveArtifactEvents(ctx, r)
}

func variable(name string, simple core.SimpleType) *core.VariableEntry {
	return &core.VariableEntry{Key: name, Value: &core.Variable{Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: simple}}}}
}

func number(name string, value int64) *task.NamedLiteral {
	return &task.NamedLiteral{Name: name, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: value}},
	}}}}}
}

// deploy is a task with the inputs at, a datetime, and x, an integer.
func deploy(version string, with ...*task.TaskTrigger) *task.DeployTaskRequest {
	return &task.DeployTaskRequest{
		TaskId: &task.TaskIdentifier{Project: projectID, Domain: domainID, Name: taskName, Version: version},
		Spec: &task.TaskSpec{
			Environment: &task.Environment{Name: "env"},
			TaskTemplate: &core.TaskTemplate{
				Type: "python", Id: &core.Identifier{Name: taskName, Version: version},
				Interface: &core.TypedInterface{Inputs: &core.VariableMap{Variables: []*core.VariableEntry{
					variable("at", core.SimpleType_DATETIME), variable("x", core.SimpleType_INTEGER),
				}}},
				Metadata: &core.TaskMetadata{Discoverable: true, DiscoveryVersion: version},
			},
		},
		Triggers: with,
	}
}

func (f *fixture) deploy(version string, with ...*task.TaskTrigger) {
	f.t.Helper()
	_, err := f.tasks.DeployTask(f.t.Context(), deploy(version, with...))
	require.NoError(f.t, err)
}

func onCron(expression, zone string) *task.TriggerAutomationSpec {
	return scheduled(&task.Schedule{
		Expression: &task.Schedule_Cron{Cron: &task.Cron{Expression: expression, Timezone: zone}}, KickoffTimeInputArg: "at",
	})
}

func scheduled(schedule *task.Schedule) *task.TriggerAutomationSpec {
	return &task.TriggerAutomationSpec{
		Type: task.TriggerAutomationSpecType_TYPE_SCHEDULE, Automation: &task.TriggerAutomationSpec_Schedule{Schedule: schedule},
	}
}

func byHand() *task.TriggerAutomationSpec {
	return &task.TriggerAutomationSpec{Type: task.TriggerAutomationSpecType_TYPE_NONE}
}

// triggered is a trigger of a task, active, with x = 7 and some annotations.
func triggered(name string, automation *task.TriggerAutomationSpec, annotations ...string) *task.TaskTrigger {
	values := map[string]string{}
	for i := 0; i+1 < len(annotations); i += 2 {
		values[annotations[i]] = annotations[i+1]
	}
	return &task.TaskTrigger{
		Name: name, AutomationSpec: automation,
		Spec: &task.TaskTriggerSpec{
			Active: true, Description: "of a test",
			InputWrapper: &task.TaskTriggerSpec_Inputs{Inputs: &task.Inputs{Literals: []*task.NamedLiteral{number("x", 7)}}},
			RunSpec: &task.RunSpec{
				Labels: &task.Labels{Values: map[string]string{"team": "data"}}, Annotations: &task.Annotations{Values: values},
				Envs: &task.Envs{Values: []*core.KeyValuePair{{Key: "WHO", Value: name}}},
			},
		},
	}
}

func name(trigger string) *common.TriggerName {
	return &common.TriggerName{Project: projectID, Domain: domainID, Name: trigger, TaskName: taskName}
}

func (f *fixture) get(of string) *trigger.TriggerDetails {
	f.t.Helper()
	response, err := f.api.GetTriggerDetails(f.t.Context(), &trigger.GetTriggerDetailsRequest{Name: name(of)})
	require.NoError(f.t, err)
	return response.GetTrigger()
}

func (f *fixture) explain(of string) *insightv1.ExplainTriggerResponse {
	f.t.Helper()
	response, err := f.insight.ExplainTrigger(f.t.Context(), &insightv1.ExplainTriggerRequest{Name: name(of), Limit: 100})
	require.NoError(f.t, err)
	return response
}

func (f *fixture) switchTo(active bool, names ...string) error {
	request := &trigger.UpdateTriggersRequest{Active: active}
	for _, n := range names {
		request.Names = append(request.Names, name(n))
	}
	_, err := f.api.UpdateTriggers(f.t.Context(), request)
	return err
}

// started are the slots of a trigger that have a run, oldest first, by their run.
func (f *fixture) started(of string) (times []string, slots []*insightv1.Slot) {
	f.t.Helper()
	for _, slot := range f.explain(of).GetSlots() {
		if slot.GetState() == insightv1.SlotState_SLOT_STATE_STARTED {
			times = append([]string{slot.GetTime().AsTime().Format("02 15:04:05")}, times...)
			slots = append([]*insightv1.Slot{slot}, slots...)
		}
	}
	return times, slots
}

// eventually waits for the slots that have a run.
func (f *fixture) eventually(of string, want ...string) {
	f.t.Helper()
	var got []string
	require.Eventually(f.t, func() bool {
		got, _ = f.started(of)
		return len(got) == len(want)
	}, 30*time.Second, 5*time.Millisecond, "want %v", want)
	require.Equal(f.t, want, got)
}

// step moves the clock once the scheduler waits, its loop for versions, and its lease.
func (f *fixture) step(d time.Duration) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.clock.Timers() >= waiting }, 30*time.Second, time.Millisecond, "the scheduler and its lease wait")
	f.clock.Step(d)
}

func (f *fixture) allRuns() []*workflow.Run {
	f.t.Helper()
	response, err := f.runs.ListRuns(f.t.Context(), &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}},
		Request: &common.ListRequest{Limit: 200},
	})
	require.NoError(f.t, err)
	return response.GetRuns()
}

func (f *fixture) finish(run string) {
	f.t.Helper()
	_, err := f.engine.RecordTransitions(f.t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{{
		Event: &workflow.ActionEvent{
			Id:      &common.ActionIdentifier{Run: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: run}, Name: "a0"},
			Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED,
		},
	}}})
	require.NoError(f.t, err)
}

func refused(t testing.TB, err error, code connect.Code, text string) {
	t.Helper()
	require.Equal(t, code, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}
