package runs_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// watchFixture is the service behind a real server, and the writer of another replica.
type watchFixture struct {
	pool    *pgxpool.Pool
	service *runs.Service
	writer  *store.Writer
	client  workflowconnect.RunServiceClient
	engine  enginev1connect.EngineServiceClient
	stop    context.CancelFunc // as the server does when it begins to stop
}

func newWatchFixture(t *testing.T) *watchFixture {
	t.Helper()
	w := &watchFixture{pool: pgtest.New(t, store.Migrations())}
	var err error
	w.service, err = runs.New(runs.DefaultConfig(), runs.Deps{Pool: w.pool, Blobs: noBlobs{}, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, w.service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.service.Stop(context.WithoutCancel(t.Context()))) })

	stopping, stop := context.WithCancel(t.Context())
	w.stop = stop
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Stopping: stopping}))
	w.service.Mount(mux)
	server := httptest.NewUnstartedServer(mux)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server.Config.Protocols = protocols
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(stop)
	w.client = workflowconnect.NewRunServiceClient(server.Client(), server.URL)
	w.engine = enginev1connect.NewEngineServiceClient(rpc.InProcess(mux), rpc.InProcessURL)

	w.writer = store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{Pool: w.pool, Logger: zerolog.Nop(), Replica: "other"})
	require.NoError(t, w.writer.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.writer.Stop(context.WithoutCancel(t.Context()))) })
	return w
}

type noBlobs struct{}

func (noBlobs) Root() string { return "/none" }

func (noBlobs) Canonical(uri string) (string, error) { return uri, nil }

func (noBlobs) ReadAll(context.Context, string, int64) ([]byte, error) { return nil, context.Canceled }

func (noBlobs) NewReader(context.Context, string) (io.ReadCloser, error) {
	return nil, context.Canceled
}

func (noBlobs) Stat(context.Context, string) (blobstore.Info, error) {
	return blobstore.Info{}, blobstore.ErrNotExist
}

func (noBlobs) WriteAll(context.Context, string, []byte) error { return nil }

func (noBlobs) Measure(_ context.Context, _, _ string, _ int, visit func(blobstore.Page) error) error {
	return visit(blobstore.Page{})
}

func (noBlobs) DeletePrefix(context.Context, string) error { return nil }

var watched = ident.Run{Project: "flytesnacks", Domain: "development", Name: "r1"}

func (w *watchFixture) create(t *testing.T) {
	t.Helper()
	_, _, err := w.writer.CreateRun(t.Context(), store.NewRun{Root: schema.Root{
		Action:        schema.Action{Project: watched.Project, Domain: watched.Domain, RunName: watched.Name, TaskName: "env.main"},
		RequestDigest: []byte("x"), RunOutputBase: "/data/",
	}})
	require.NoError(t, err)
}

func (w *watchFixture) report(t *testing.T, phase state.Phase) {
	t.Helper()
	_, err := w.writer.RecordTransitions(t.Context(), []store.Transition{{
		Action: watched.Root(), To: state.Position{Attempt: 1, Phase: phase},
	}})
	require.NoError(t, err)
}

func TestWatchesOverTheWire(t *testing.T) {
	w := newWatchFixture(t)
	w.create(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	details, err := w.client.WatchActionDetails(ctx, &workflow.WatchActionDetailsRequest{ActionId: watched.Root().Proto()})
	require.NoError(t, err)
	require.True(t, details.Receive())
	runs, err := w.client.WatchRuns(ctx, &workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_ProjectId{
		ProjectId: &common.ProjectIdentifier{Organization: "o", Name: watched.Project, Domain: watched.Domain},
	}})
	require.NoError(t, err)
	require.True(t, runs.Receive())
	require.Len(t, runs.Msg().GetRuns(), 1)
	children, err := w.engine.WatchChildren(ctx, &enginev1.WatchChildrenRequest{Parent: watched.Root().Proto()})
	require.NoError(t, err)
	require.True(t, children.Receive())
	require.True(t, children.Msg().GetMessage().GetControlMessage().GetSentinel())

	w.report(t, state.Succeeded) // at another replica
	for details.Receive() && details.Msg().GetDetails().GetStatus().GetPhase() != common.ActionPhase_ACTION_PHASE_SUCCEEDED {
	}
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, details.Msg().GetDetails().GetStatus().GetPhase())
	require.False(t, details.Receive(), "the end follows the terminal message")
	require.NoError(t, details.Err())
	for runs.Receive() && len(runs.Msg().GetRuns()) == 0 {
	}
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, runs.Msg().GetRuns()[0].GetAction().GetStatus().GetPhase())

	w.stop()
	for runs.Receive() {
	}
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(runs.Err()), "a stopping server is unavailable, its streams not canceled")
	require.NoError(t, w.service.Stop(ctx))
	for children.Receive() {
	}
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(children.Err()), "so is it for its own services")
}

func TestWatchesRefuse(t *testing.T) {
	w := newWatchFixture(t)
	w.create(t)
	code := func(receive func() bool, failure func() error) connect.Code {
		for receive() {
		}
		return connect.CodeOf(failure())
	}
	unknown := ident.Run{Project: "flytesnacks", Domain: "staging", Name: "r1"}

	details, err := w.client.WatchActionDetails(t.Context(), &workflow.WatchActionDetailsRequest{ActionId: unknown.Root().Proto()})
	require.NoError(t, err)
	require.Equal(t, connect.CodeNotFound, code(details.Receive, details.Err))
	run, err := w.client.WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: unknown.Proto()})
	require.NoError(t, err)
	require.Equal(t, connect.CodeNotFound, code(run.Receive, run.Err))
	children, err := w.engine.WatchChildren(t.Context(), &enginev1.WatchChildrenRequest{Parent: unknown.Root().Proto()})
	require.NoError(t, err)
	require.Equal(t, connect.CodeNotFound, code(children.Receive, children.Err))
	tree, err := w.client.WatchActions(t.Context(), &workflow.WatchActionsRequest{
		RunId: watched.Proto(), Filter: []*common.Filter{{Field: "OWNER", Values: []string{"x"}}},
	})
	require.NoError(t, err)
	require.Equal(t, connect.CodeInvalidArgument, code(tree.Receive, tree.Err))
	empty, err := w.client.WatchActionDetails(t.Context(), &workflow.WatchActionDetailsRequest{})
	require.NoError(t, err)
	require.Equal(t, connect.CodeInvalidArgument, code(empty.Receive, empty.Err))
}
