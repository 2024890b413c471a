package manager_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// TestPort calls one server with every protocol that clients use.
func TestPort(t *testing.T) {
	config := testConfig(t)
	config.Server.AllowedHosts, config.Server.AllowedOrigins = []string{"flyte.example"}, []string{"http://localhost:*"}
	url := startServer(t, config, nowhere(t))
	t.Run("JSON by plain HTTP", func(t *testing.T) { jsonCalls(t, url) })
	t.Run("gzip", func(t *testing.T) { gzipCalls(t, url) })
	t.Run("gRPC over h2c", func(t *testing.T) { grpcCalls(t, url) })
	t.Run("gRPC-Web and Connect", func(t *testing.T) { connectCalls(t, url) })
	t.Run("origins", func(t *testing.T) { origins(t, url) })
	t.Run("hosts", func(t *testing.T) { hosts(t, url) })
	t.Run("pages", func(t *testing.T) { pages(t, url) })
	t.Run("reflection", func(t *testing.T) { reflection(t, url) })
	t.Run("unbuilt services", func(t *testing.T) { unbuilt(t, url) })
	t.Run("internal procedures", func(t *testing.T) { internal(t, url) })
	t.Run("probes", func(t *testing.T) { probes(t, url) })
}

// do sends a request and returns status, header and body.
func do(t *testing.T, method, url string, body io.Reader, header map[string]string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

const listProjects = "/flyteidl2.project.ProjectService/ListProjects"

var asJSON = map[string]string{"Content-Type": "application/json"}

func jsonCalls(t *testing.T, url string) {
	code, _, body := do(t, http.MethodPost, url+listProjects, strings.NewReader("{}"), asJSON)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, "flytesnacks")

	code, _, body = do(t, http.MethodPost, url+"/flyteidl2.workflow.RunService/GetRunDetails", strings.NewReader("{}"), asJSON)
	require.Equal(t, http.StatusBadRequest, code)
	var failure struct{ Code, Message string }
	require.NoError(t, json.Unmarshal([]byte(body), &failure))
	require.Equal(t, "invalid_argument", failure.Code)
	require.Contains(t, failure.Message, "run_id")
}

func gzipCalls(t *testing.T, url string) {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	_, err := io.WriteString(w, "{}")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	code, _, text := do(t, http.MethodPost, url+listProjects, &body, map[string]string{
		"Content-Type": "application/json", "Content-Encoding": "gzip",
	})
	require.Equal(t, http.StatusOK, code, text)

	list := func() string {
		code, header, _ := do(t, http.MethodPost, url+listProjects, strings.NewReader("{}"), map[string]string{
			"Content-Type": "application/json", "Accept-Encoding": "gzip",
		})
		require.Equal(t, http.StatusOK, code)
		return header.Get("Content-Encoding")
	}
	require.Empty(t, list(), "small responses are not compressed")
	_, err = projectconnect.NewProjectServiceClient(http.DefaultClient, url).CreateProject(t.Context(), &project.CreateProjectRequest{
		Project: &project.Project{Id: "long", Name: "long", Description: strings.Repeat("words ", 300)},
	})
	require.NoError(t, err)
	require.Equal(t, "gzip", list())
}

func grpcCalls(t *testing.T, url string) {
	conn, err := grpc.NewClient(strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	var list project.ListProjectsResponse
	require.NoError(t, conn.Invoke(t.Context(), listProjects, &project.ListProjectsRequest{}, &list))
	require.NotEmpty(t, list.GetProjects())
	var details workflow.GetRunDetailsResponse
	err = conn.Invoke(t.Context(), "/flyteidl2.workflow.RunService/GetRunDetails", &workflow.GetRunDetailsRequest{}, &details)
	require.Equal(t, codes.InvalidArgument, status.Code(err))

	health := grpc_health_v1.NewHealthClient(conn)
	_, err = health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "no.Such"})
	require.Equal(t, codes.NotFound, status.Code(err))
	answer, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "flyteidl2.workflow.RunService"})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, answer.GetStatus(), "the cluster is unreachable")
	watch, err := health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	answer, err = watch.Recv()
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, answer.GetStatus())
}

func connectCalls(t *testing.T, url string) {
	for _, option := range []connect.ClientOption{connect.WithClientOptions(), connect.WithGRPCWeb(), connect.WithProtoJSON(), connect.WithHTTPGet()} {
		list, err := projectconnect.NewProjectServiceClient(http.DefaultClient, url, option).
			ListProjects(t.Context(), &project.ListProjectsRequest{})
		require.NoError(t, err)
		require.NotEmpty(t, list.GetProjects())
	}
}

func origins(t *testing.T, url string) {
	preflight := func(origin string) http.Header {
		code, header, _ := do(t, http.MethodOptions, url+listProjects, nil, map[string]string{
			"Origin": origin, "Access-Control-Request-Method": "POST",
			"Access-Control-Request-Headers": "connect-protocol-version,content-type",
		})
		require.Equal(t, http.StatusNoContent, code)
		return header
	}
	header := preflight("http://localhost:3000")
	require.Equal(t, "http://localhost:3000", header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, header.Get("Access-Control-Allow-Headers"), "connect-protocol-version")
	for _, foreign := range []string{"https://evil.example", "http://localhost.evil.example", "https://localhost:3000", "null"} {
		require.Empty(t, preflight(foreign).Get("Access-Control-Allow-Origin"), foreign)
	}
	require.Empty(t, header.Get("Access-Control-Allow-Credentials"))

	_, header, _ = do(t, http.MethodPost, url+listProjects, strings.NewReader("{}"), map[string]string{
		"Content-Type": "application/json", "Origin": "http://localhost:8080", "Sec-Fetch-Site": "cross-site",
	})
	require.Equal(t, "http://localhost:8080", header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, header.Get("Vary"), "Origin")

	// Requests that a page of another origin, such as a report, sends without a preflight have no effect.
	for _, simple := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"} {
		code, header, _ := do(t, http.MethodPost, url+listProjects, strings.NewReader("{}"), map[string]string{"Content-Type": simple, "Origin": "null"})
		require.Equal(t, http.StatusForbidden, code)
		require.Empty(t, header.Get("Access-Control-Allow-Origin"))
	}
}

// hosts calls the server under its own names and under foreign ones.
func hosts(t *testing.T, url string) {
	for host, want := range map[string]int{
		"flyte.example": http.StatusOK, "flyte.flyte.svc:8090": http.StatusOK, "localhost": http.StatusOK, "evil.example:8088": http.StatusMisdirectedRequest,
	} {
		for _, path := range []string{listProjects, "/readyz", "/v2/", "/blobs/x"} {
			method := map[bool]string{true: http.MethodPost, false: http.MethodGet}[path == listProjects]
			request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader("{}"))
			require.NoError(t, err)
			request.Host = host
			request.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			if want == http.StatusMisdirectedRequest || path == listProjects {
				require.Equal(t, want, response.StatusCode, "%s %s", host, path)
			}
		}
	}
}

// pages may follow the links that the store signs, wherever those lead.
func pages(t *testing.T, url string) {
	code, header, _ := do(t, http.MethodGet, url+"/v2/", nil, nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, header.Get("Content-Security-Policy"), "connect-src 'self' "+strings.Replace(url, "127.0.0.1", "localhost", 1)+";", "the public address")
}

// h2c is a client that speaks HTTP/2 without TLS, as streaming in both directions needs.
func h2c(t *testing.T) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func reflection(t *testing.T, url string) {
	stream := grpcreflect.NewClient(h2c(t), url).NewStream(t.Context())
	names, err := stream.ListServices()
	require.NoError(t, err)
	require.Contains(t, names, protoreflect.FullName("flyteidl2.workflow.RunService"))
	files, err := stream.FileContainingSymbol("flyteidl2.workflow.RunService")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	_, err = stream.Close()
	require.NoError(t, err)
}

// unbuilt walks the contract: every public procedure is served, and none answers as if the path did not exist.
func unbuilt(t *testing.T, url string) {
	code, header, body := do(t, http.MethodPost, url+"/flyteidl2.none.None/None", strings.NewReader("{}"), asJSON)
	require.Equal(t, http.StatusNotImplemented, code)
	require.Equal(t, "application/json", header.Get("Content-Type"))
	require.Contains(t, body, "unimplemented")

	services := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "flyteidl2.") {
			return true
		}
		for i := range file.Services().Len() {
			services++
			service := file.Services().Get(i)
			method := service.Methods().Get(0)
			if method.IsStreamingClient() || method.IsStreamingServer() {
				continue
			}
			code, _, body := do(t, http.MethodPost, url+"/"+string(service.FullName())+"/"+string(method.Name()), strings.NewReader("{}"), asJSON)
			require.NotEqual(t, http.StatusNotFound, code, "%s: %s", method.FullName(), body)
			require.NotContains(t, body, "is not served here", method.FullName())
		}
		return true
	})
	require.Greater(t, services, 20)
}

func internal(t *testing.T, url string) {
	_, err := workflowconnect.NewInternalRunServiceClient(http.DefaultClient, url).
		RecordActionEvents(t.Context(), &workflow.RecordActionEventsRequest{})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err))
}

func probes(t *testing.T, url string) {
	code, _, _ := do(t, http.MethodGet, url+"/healthz", nil, nil)
	require.Equal(t, http.StatusOK, code)
	code, _, body := do(t, http.MethodGet, url+"/readyz", nil, nil)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "database: ok\nstorage: ok\nkubernetes: API server: get the version")
	code, _, body = do(t, http.MethodGet, url+"/metrics", nil, nil)
	require.Equal(t, http.StatusOK, code)
	for _, want := range []string{"rpc_server", "go_goroutines"} {
		require.Contains(t, body, want)
	}
	code, _, _ = do(t, http.MethodGet, url+"/blobs/etc/passwd", nil, nil)
	require.Equal(t, http.StatusForbidden, code)
	code, _, _ = do(t, http.MethodGet, url+"/nothing", nil, nil)
	require.Equal(t, http.StatusNotFound, code)
}

func TestManyStreamsOnOneConnection(t *testing.T) {
	url := startServer(t, testConfig(t), nowhere(t))
	client := h2c(t)
	var dials int
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	health := connect.NewClient[grpc_health_v1.HealthCheckRequest, grpc_health_v1.HealthCheckResponse](
		client, url+"/grpc.health.v1.Health/Watch", connect.WithGRPC())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 400 { // the library's own limit is 250
		stream, err := health.CallServerStream(ctx, connect.NewRequest(&grpc_health_v1.HealthCheckRequest{Service: "no.Such"}))
		require.NoError(t, err)
		require.True(t, stream.Receive(), "%v", stream.Err())
		t.Cleanup(func() { _ = stream.Close() })
	}
	require.Equal(t, 1, dials)
}
