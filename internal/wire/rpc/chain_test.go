package rpc_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// behavior is what the handlers of a test do; the rest is unimplemented.
type behaviour struct {
	workflowconnect.UnimplementedRunServiceHandler
	enginev1connect.UnimplementedEngineServiceHandler
	taskconnect.UnimplementedTaskServiceHandler
	details func(context.Context) error
}

func (b behaviour) GetRunDetails(ctx context.Context, _ *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	return &workflow.GetRunDetailsResponse{}, b.details(ctx)
}

func (b behaviour) WatchRunDetails(ctx context.Context, _ *workflow.WatchRunDetailsRequest, s *connect.ServerStream[workflow.WatchRunDetailsResponse]) error {
	return b.details(ctx)
}

func (b behaviour) GetAssignments(context.Context, *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	return &enginev1.GetAssignmentsResponse{}, nil
}

func mux(chain rpc.Chain, b behaviour) *rpc.Mux {
	m := rpc.NewMux(rpc.Interceptors(chain))
	m.Handle(workflowconnect.NewRunServiceHandler(b, m.Options()...))
	m.Handle(enginev1connect.NewEngineServiceHandler(b, m.Options()...))
	m.Handle(taskconnect.NewTaskServiceHandler(b, m.Options()...))
	return m
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return server.URL
}

var someRun = &workflow.GetRunDetailsRequest{RunId: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r"}}

// call makes one unary and one streaming call and checks that both end alike.
func call(t *testing.T, chain rpc.Chain, details func(context.Context) error) *connect.Error {
	t.Helper()
	client := workflowconnect.NewRunServiceClient(rpc.InProcess(mux(chain, behaviour{details: details})), rpc.InProcessURL)
	_, err := client.GetRunDetails(t.Context(), someRun)
	stream, streamErr := client.WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
	require.NoError(t, streamErr)
	require.False(t, stream.Receive())
	require.Equal(t, connect.CodeOf(err), connect.CodeOf(stream.Err()))
	require.NoError(t, stream.Close())
	var wire *connect.Error
	require.ErrorAs(t, err, &wire)
	return wire
}

type stateError string

func (s stateError) Error() string    { return "sql " + string(s) }
func (s stateError) SQLState() string { return string(s) }

// Story R36: database errors reached clients as unknown, which they treat as an expired sign-in.
func TestErrorsBecomeCodes(t *testing.T) {
	cause := errors.New("password=hunter2")
	for _, c := range []struct {
		err     error
		code    connect.Code
		message string
	}{
		{rpc.InvalidArgument("run_id.name", "is %d long", 31), connect.CodeInvalidArgument, "run_id.name: is 31 long"},
		{rpc.NotFound("run %s", "x"), connect.CodeNotFound, "run x"},
		{rpc.AlreadyExists("x"), connect.CodeAlreadyExists, "x"},
		{rpc.Aborted("x"), connect.CodeAborted, "x"},
		{rpc.FailedPrecondition("x"), connect.CodeFailedPrecondition, "x"},
		{rpc.ResourceExhausted("x"), connect.CodeResourceExhausted, "x"},
		{rpc.Unavailable(cause, "x"), connect.CodeUnavailable, "x"},
		{rpc.Unimplemented("x"), connect.CodeUnimplemented, "x"},
		{rpc.PermissionDenied("x"), connect.CodePermissionDenied, "x"},
		{rpc.Unauthenticated("x"), connect.CodeUnauthenticated, "x"},
		{rpc.DeadlineExceeded("x"), connect.CodeDeadlineExceeded, "x"},
		{rpc.OutOfRange("x"), connect.CodeOutOfRange, "x"},
		{rpc.DataLoss(cause, "x"), connect.CodeDataLoss, "x"},
		{rpc.Internal(cause, "x"), connect.CodeInternal, "x"},
		{fmt.Errorf("wrapped: %w", rpc.NotFound("run x")), connect.CodeNotFound, "run x"},
		{cause, connect.CodeInternal, "internal"},
		{sql.ErrNoRows, connect.CodeNotFound, ""},
		{stateError("23505"), connect.CodeAlreadyExists, ""},
		{stateError("40001"), connect.CodeAborted, ""},
		{stateError("57P03"), connect.CodeUnavailable, ""},
		{stateError("53300"), connect.CodeUnavailable, ""},
		{stateError("55000"), connect.CodeUnavailable, ""},
		{stateError("28P01"), connect.CodeUnavailable, ""},
		{stateError("3D000"), connect.CodeUnavailable, ""},
		{stateError("22021"), connect.CodeInvalidArgument, ""},
		{stateError("42601"), connect.CodeInternal, ""},
		{context.DeadlineExceeded, connect.CodeDeadlineExceeded, ""},
		{context.Canceled, connect.CodeUnavailable, ""}, // an internal operation was canceled, not the request
		{connect.NewError(connect.CodeUnknown, errors.New("x")), connect.CodeInternal, "x"},
		{connect.NewError(connect.CodeNotFound, errors.New("from another service")), connect.CodeNotFound, "from another service"},
	} {
		wire := call(t, rpc.Chain{}, func(context.Context) error { return c.err })
		require.Equal(t, c.code, wire.Code(), "%v", c.err)
		require.Contains(t, wire.Message(), c.message)
		require.NotContains(t, wire.Message(), "hunter2")
		status := rpc.StatusOf(c.err)
		require.NotContains(t, status.GetMessage(), "hunter2")
		if !errors.Is(c.err, context.Canceled) {
			require.EqualValues(t, c.code, status.GetCode())
		}
	}
}

func TestInvalidArgumentNamesItsFieldInADetail(t *testing.T) {
	wire := call(t, rpc.Chain{}, func(context.Context) error { return rpc.InvalidArgument("run_id.name", "bad") })
	require.Equal(t, []string{"run_id.name"}, violatedFields(t, wire))
}

func TestMessagesComeInParts(t *testing.T) {
	parts := func(err error) *insightv1.Sentence {
		wire := call(t, rpc.Chain{}, func(context.Context) error { return err })
		for _, detail := range wire.Details() {
			if value, err := detail.Value(); err == nil {
				if found, ok := value.(*insightv1.Sentence); ok {
					return found
				}
			}
		}
		return nil
	}
	require.Equal(t, "run {1} has no attempt {2}", parts(rpc.NotFound("run %s has no attempt %d", "r", 7)).GetText())
	require.Equal(t, []string{"r", "7"}, parts(rpc.NotFound("run %s has no attempt %d", "r", 7)).GetValues())
	require.Equal(t, []string{"5"}, parts(rpc.InvalidArgument("limit", "at most %d", 5)).GetValues(), "beside the field")
	require.Nil(t, parts(rpc.NotFound("%s", "the words of another server")), "free text has no translation")
	require.Nil(t, parts(rpc.NotFound("run %s does not exist", strings.Repeat("x", 2000))), "headers are small")
}

func violatedFields(t *testing.T, wire *connect.Error) []string {
	t.Helper()
	require.NotEmpty(t, wire.Details())
	value, err := wire.Details()[0].Value()
	require.NoError(t, err)
	violations, ok := value.(*validate.Violations)
	require.True(t, ok)
	var fields []string
	for _, violation := range violations.GetViolations() {
		var names []string
		for _, element := range violation.GetField().GetElements() {
			names = append(names, element.GetFieldName())
		}
		fields = append(fields, strings.Join(names, "."))
	}
	return fields
}

func TestFailuresAreLoggedUnderTheirID(t *testing.T) {
	var log bytes.Buffer
	wire := call(t, rpc.Chain{Log: zerolog.New(&log)}, func(context.Context) error {
		return rpc.Internal(errors.New("the cause"), "cannot read the run")
	})
	_, id, found := strings.Cut(strings.TrimSuffix(wire.Message(), ")"), "error id ")
	require.True(t, found, wire.Message())
	require.Contains(t, log.String(), id)
	require.Contains(t, log.String(), "the cause")
	require.Contains(t, log.String(), "/flyteidl2.workflow.RunService/GetRunDetails")
}

// crash does what a careless handler does with a missing message.
func crash(id *common.RunIdentifier) error {
	id.Name = "x"
	return nil
}

func TestPanicBecomesInternalWithAnID(t *testing.T) {
	var log bytes.Buffer
	wire := call(t, rpc.Chain{Log: zerolog.New(&log)}, func(context.Context) error {
		return crash(nil)
	})
	require.Equal(t, connect.CodeInternal, wire.Code())
	require.NotContains(t, wire.Message(), "nil pointer")
	id, found := strings.CutSuffix(strings.TrimPrefix(wire.Message(), "internal error (id "), "); see the server log")
	require.True(t, found, wire.Message())
	require.Contains(t, log.String(), `"errorId":"`+id+`"`)
	require.Contains(t, log.String(), "nil pointer")
	require.Contains(t, log.String(), "chain_test.go", "the stack names the place")
}

func TestValidation(t *testing.T) {
	client := workflowconnect.NewRunServiceClient(rpc.InProcess(mux(rpc.Chain{}, behaviour{
		details: func(context.Context) error { return nil },
	})), rpc.InProcessURL)

	_, err := client.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	require.ErrorContains(t, err, "run_id")
	var wire *connect.Error
	require.ErrorAs(t, err, &wire)
	require.Equal(t, []string{"run_id"}, violatedFields(t, wire))

	_, err = client.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: &common.RunIdentifier{
		Project: "p", Domain: "d", Name: strings.Repeat("x", 31),
	}})
	require.ErrorContains(t, err, "run_id.name")

	stream, err := client.WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{})
	require.NoError(t, err)
	require.False(t, stream.Receive())
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(stream.Err()))
	require.NoError(t, stream.Close())

	_, err = client.GetRunDetails(t.Context(), someRun)
	require.NoError(t, err, "an empty organisation breaks no rule")

	// An organization that is required elsewhere is not required here.
	tasks := taskconnect.NewTaskServiceClient(rpc.InProcess(mux(rpc.Chain{}, behaviour{})), rpc.InProcessURL)
	_, err = tasks.GetTaskDetails(t.Context(), &task.GetTaskDetailsRequest{TaskId: &task.TaskIdentifier{
		Project: "p", Domain: "d", Name: "n", Version: "v",
	}})
	require.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err), "%v", err)
}

func TestShutdownAnswersUnavailable(t *testing.T) {
	started := make(chan struct{})
	h := mux(rpc.Chain{}, behaviour{details: func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}})
	ctx, cancel := context.WithCancelCause(t.Context())
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(ctx))
	}))
	answered := make(chan error)
	go func() {
		_, err := workflowconnect.NewRunServiceClient(http.DefaultClient, url).GetRunDetails(t.Context(), someRun)
		answered <- err
	}()
	<-started
	cancel(rpc.ErrShuttingDown)
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(<-answered))
}

func TestStreamsEndWhenTheProcessBeginsToStop(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	started := make(chan struct{}, 2)
	finish := make(chan struct{})
	h := mux(rpc.Chain{Stopping: stopping}, behaviour{details: func(ctx context.Context) error {
		started <- struct{}{}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-finish:
			return nil
		}
	}})
	client := workflowconnect.NewRunServiceClient(http.DefaultClient, serve(t, h))
	unary := make(chan error)
	go func() {
		_, err := client.GetRunDetails(t.Context(), someRun)
		unary <- err
	}()
	streamed := make(chan error)
	go func() {
		stream, err := client.WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
		if err == nil {
			stream.Receive()
			err = errors.Join(stream.Err(), stream.Close())
		}
		streamed <- err
	}()
	<-started
	<-started
	stop()
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(<-streamed))
	close(finish)
	require.NoError(t, <-unary)
}

// Story R35: services that released clients call returned an HTML page.
func TestUnknownProcedureIsUnimplemented(t *testing.T) {
	h := rpc.NewMux()
	client := workflowconnect.NewRunServiceClient(rpc.InProcess(h), rpc.InProcessURL)
	_, err := client.GetRunDetails(t.Context(), someRun)
	require.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err))
	grpc := workflowconnect.NewRunServiceClient(rpc.InProcess(h), rpc.InProcessURL, connect.WithGRPC())
	_, err = grpc.GetRunDetails(t.Context(), someRun)
	require.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err))
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/nothing", nil))
	require.Equal(t, http.StatusNotFound, recorder.Code)
}
