package notifications_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/notifications"
	notificationstore "github.com/flyte-binary/flyte-binary/notifications/store"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

const (
	succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	failed    = common.ActionPhase_ACTION_PHASE_FAILED
	aborted   = common.ActionPhase_ACTION_PHASE_ABORTED
	paused    = common.ActionPhase_ACTION_PHASE_PAUSED
)

// outbox is the runs service's outbox, as the manager passes it.
type outbox struct{ *worklists.Outbox }

func (o outbox) Pending(ctx context.Context, limit int) ([]notifications.Occurrence, error) {
	rows, err := o.Outbox.Pending(ctx, limit)
	var found []notifications.Occurrence
	for _, row := range rows {
		found = append(found, notifications.Occurrence{
			ID: row.ID, RunID: row.RunID, Action: row.Action, Phase: common.ActionPhase(row.Phase), Gone: row.Gone,
			Error: row.Error, AbortReason: row.AbortReason, RunSpec: row.RunSpec, Condition: row.Condition,
		})
	}
	return found, err
}

// fixture is the runs service and the notifications service on one database.
type fixture struct {
	t        testing.TB
	pool     *pgxpool.Pool
	root     string // of the object store
	config   notifications.Config
	service  *notifications.Service
	runs     workflowconnect.RunServiceClient
	internal workflowconnect.InternalRunServiceClient
	engine   enginev1connect.EngineServiceClient
	client   insightv1connect.NotificationServiceClient
}

func newFixture(t testing.TB, change func(*notifications.Config)) *fixture {
	t.Helper()
	config := notifications.DefaultConfig()
	config.Allow = []string{"127.0.0.0/8"}
	config.Poll, config.Backoff.First, config.Backoff.Max, config.Timeout = 10*time.Millisecond, 10*time.Millisecond, 50*time.Millisecond, 5*time.Second
	if change != nil {
		change(&config)
	}
	f := &fixture{t: t, pool: pgtest.Schemas(t, store.Schema(), notificationstore.Schema()), config: config}
	blobs := blobstore.DefaultConfig()
	blobs.URL, blobs.PublicURL, blobs.Sync = t.TempDir(), "http://localhost", false
	opened, err := blobstore.Open(t.Context(), blobs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	f.root = opened.Root()
	reviewer, err := notifications.NewReviewer(config)
	require.NoError(t, err)
	service, err := runs.New(runs.DefaultConfig(), runs.Deps{
		Pool: f.pool, Blobs: opened, Logger: zerolog.Nop(),
		Launch: runs.Launch{Notifications: reviewer}, Outbox: runs.Outbox{NotifyPhases: reviewer.Everywhere()},
	})
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	chain, err := rpc.NewGuardedMux(rpc.Chain{})
	require.NoError(t, err)
	service.Mount(chain)
	f.service = f.begin()
	f.service.Mount(chain)
	client := rpc.InProcess(chain)
	f.runs = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	f.internal = workflowconnect.NewInternalRunServiceClient(client, rpc.InProcessURL)
	f.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	f.client = insightv1connect.NewNotificationServiceClient(client, rpc.InProcessURL)
	return f
}

// begin starts a notifications service, as a process that starts does.
func (f *fixture) begin() *notifications.Service {
	f.t.Helper()
	service, err := notifications.New(f.config, notifications.Deps{Pool: f.pool, Outbox: outbox{worklists.NewOutbox(f.pool)}, Logger: zerolog.Nop()})
	require.NoError(f.t, err)
	require.NoError(f.t, service.Start(f.t.Context()))
	f.t.Cleanup(func() { require.NoError(f.t, service.Stop(context.WithoutCancel(f.t.Context()))) })
	return service
}

func runID(name string) *common.RunIdentifier {
	return &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
}

func actionID(run, name string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: runID(run), Name: name}
}

func request(name string, spec *task.RunSpec) *workflow.CreateRunRequest {
	return &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: runID(name)}, RunSpec: spec,
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{
			ShortName: "main", Environment: &task.Environment{Name: "env"},
			TaskTemplate: &core.TaskTemplate{Id: &core.Identifier{Name: "env.main", Version: "v1"}, Type: "python"},
		}},
	}
}

func rules(list ...*task.InlineRule) *task.RunSpec {
	return &task.RunSpec{NotificationSettings: &task.RunSpec_NotificationRules{NotificationRules: &task.InlineRuleList{Rules: list}}}
}

func named(name string) *task.RunSpec {
	return &task.RunSpec{NotificationSettings: &task.RunSpec_NotificationRuleName{NotificationRuleName: name}}
}

func template(t *notification.DeliveryConfigTemplate, on ...common.ActionPhase) *task.InlineRule {
	return &task.InlineRule{OnPhases: on, Delivery: &task.InlineRule_DeliveryTemplate{DeliveryTemplate: t}}
}

func webhook(url, body string, on ...common.ActionPhase) *task.InlineRule {
	return template(&notification.DeliveryConfigTemplate{Webhook: &notification.WebhookDeliveryTemplate{
		Url: url, Method: notification.HttpMethod_HTTP_METHOD_POST, BodyTemplate: body,
	}}, on...)
}

func (f *fixture) create(name string, spec *task.RunSpec) {
	f.t.Helper()
	_, err := f.runs.CreateRun(f.t.Context(), request(name, spec))
	require.NoError(f.t, err)
}

// end reports how the root action of a run ended.
func (f *fixture) end(run string, phase common.ActionPhase, message string) {
	f.t.Helper()
	event := &workflow.ActionEvent{Id: actionID(run, "a0"), Attempt: 1, Phase: phase, ReportedTime: timestamppb.Now()}
	transition := &enginev1.Transition{Event: event}
	if message != "" {
		transition.Error = &core.ExecutionError{Message: message, Kind: core.ExecutionError_USER}
	}
	_, err := f.engine.RecordTransitions(f.t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{transition}})
	require.NoError(f.t, err)
}

func (f *fixture) deliveries(run string) []*insightv1.Delivery {
	f.t.Helper()
	response, err := f.client.ListDeliveries(f.t.Context(), &insightv1.ListDeliveriesRequest{Scope: &insightv1.ListDeliveriesRequest_RunId{RunId: runID(run)}})
	require.NoError(f.t, err)
	return response.GetDeliveries()
}

// settle waits until the outbox is empty, and every delivery of a run is in a state. It returns them.
func (f *fixture) settle(run string, count int, state insightv1.DeliveryState) []*insightv1.Delivery {
	f.t.Helper()
	var list []*insightv1.Delivery
	require.Eventually(f.t, func() bool {
		list = f.deliveries(run)
		for _, one := range list {
			if one.GetState() != state {
				return false
			}
		}
		return len(list) == count && f.outboxSize() == 0
	}, 20*time.Second, 10*time.Millisecond, "%v", list)
	return list
}

func (f *fixture) outboxSize() (n int) {
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT count(*) FROM notification_outbox`).Scan(&n))
	return n
}

func codeOf(err error) connect.Code { return connect.CodeOf(err) }

// got is a request that a sink received.
type got struct {
	method, path, query, body string
	header                    http.Header
}

// sink is a service that webhooks call.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	calls  []got
	answer func(call int) int
}

func newSink(t testing.TB, answer func(call int) int) *sink {
	t.Helper()
	s := &sink{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.calls = append(s.calls, got{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Clone()})
		n := len(s.calls)
		s.mu.Unlock()
		if s.answer != nil {
			w.WriteHeader(s.answer(n))
		}
		_, _ = io.WriteString(w, "secret of the service")
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) received() []got {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]got(nil), s.calls...)
}

func rulesOf(delivery string, on ...common.ActionPhase) *task.RunSpec {
	return rules(&task.InlineRule{OnPhases: on, Delivery: &task.InlineRule_DeliveryConfigName{DeliveryConfigName: delivery}})
}
