package goclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// runService is what the tests need of RunService, whatever the protocol.
type runService interface {
	CreateRun(context.Context, *workflow.CreateRunRequest) (*workflow.CreateRunResponse, error)
	GetRunDetails(context.Context, *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error)
	ListRuns(context.Context, *workflow.ListRunsRequest) (*workflow.ListRunsResponse, error)
	ListActions(context.Context, *workflow.ListActionsRequest) (*workflow.ListActionsResponse, error)
	AbortRun(context.Context, *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error)
	// watch hands on each message until the function says that it has seen enough.
	watch(context.Context, *workflow.WatchRunDetailsRequest, func(*workflow.RunDetails) (enough bool)) error
	// code of an error, in the words of gRPC's and Connect's common list.
	code(error) uint32
}

// byConnect uses the generated Connect client.
type byConnect struct {
	workflowconnect.RunServiceClient
}

func (c byConnect) watch(ctx context.Context, request *workflow.WatchRunDetailsRequest, see func(*workflow.RunDetails) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.WatchRunDetails(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // it is canceled
	for stream.Receive() {
		if see(stream.Msg().GetDetails()) {
			return nil
		}
	}
	return errors.Join(stream.Err(), errors.New("the stream ended too early"))
}

func (byConnect) code(err error) uint32 { return uint32(connect.CodeOf(err)) }

// byGRPC calls as generated gRPC stubs do, with the procedures' names.
type byGRPC struct{ conn *grpc.ClientConn }

func (c byGRPC) CreateRun(ctx context.Context, in *workflow.CreateRunRequest) (*workflow.CreateRunResponse, error) {
	out := &workflow.CreateRunResponse{}
	return out, c.conn.Invoke(ctx, workflowconnect.RunServiceCreateRunProcedure, in, out)
}

func (c byGRPC) GetRunDetails(ctx context.Context, in *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	out := &workflow.GetRunDetailsResponse{}
	return out, c.conn.Invoke(ctx, workflowconnect.RunServiceGetRunDetailsProcedure, in, out)
}

func (c byGRPC) ListRuns(ctx context.Context, in *workflow.ListRunsRequest) (*workflow.ListRunsResponse, error) {
	out := &workflow.ListRunsResponse{}
	return out, c.conn.Invoke(ctx, workflowconnect.RunServiceListRunsProcedure, in, out)
}

func (c byGRPC) ListActions(ctx context.Context, in *workflow.ListActionsRequest) (*workflow.ListActionsResponse, error) {
	out := &workflow.ListActionsResponse{}
	return out, c.conn.Invoke(ctx, workflowconnect.RunServiceListActionsProcedure, in, out)
}

func (c byGRPC) AbortRun(ctx context.Context, in *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error) {
	out := &workflow.AbortRunResponse{}
	return out, c.conn.Invoke(ctx, workflowconnect.RunServiceAbortRunProcedure, in, out)
}

func (c byGRPC) watch(ctx context.Context, request *workflow.WatchRunDetailsRequest, see func(*workflow.RunDetails) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	raw, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, workflowconnect.RunServiceWatchRunDetailsProcedure)
	if err != nil {
		return err
	}
	stream := &grpc.GenericClientStream[workflow.WatchRunDetailsRequest, workflow.WatchRunDetailsResponse]{ClientStream: raw}
	if err := errors.Join(stream.SendMsg(request), stream.CloseSend()); err != nil {
		return err
	}
	for {
		answer, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the stream ended too early")
		case err != nil:
			return err
		case see(answer.GetDetails()):
			return nil
		}
	}
}

func (byGRPC) code(err error) uint32 { return uint32(status.Code(err)) }

// clients are all ways to the server.
func clients(t *testing.T, endpoint string) map[string]runService {
	t.Helper()
	conn, err := grpc.NewClient("dns:///"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	one, two := &http.Transport{}, &http.Transport{Protocols: &http.Protocols{}}
	two.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(one.CloseIdleConnections)
	t.Cleanup(two.CloseIdleConnections)
	connectOver := func(transport *http.Transport, options ...connect.ClientOption) runService {
		return byConnect{workflowconnect.NewRunServiceClient(&http.Client{Transport: transport}, "http://"+endpoint, options...)}
	}
	return map[string]runService{
		"connect":                  connectOver(one),
		"connect with JSON":        connectOver(one, connect.WithProtoJSON()),
		"connect over h2c":         connectOver(two, connect.WithSendGzip()),
		"gRPC-Web":                 connectOver(one, connect.WithGRPCWeb()),
		"gRPC":                     byGRPC{conn},
		"gRPC by Connect's client": connectOver(two, connect.WithGRPC()),
	}
}
