package connectors_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/connectors"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector/connectorconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
)

// fakeJob is a job in the system behind the fake.
type fakeJob struct {
	ID, Key  string
	state    *connectorv2.Resource
	template string // the type of its task
	deleted  bool
	run      string // of storms, with attempt
	attempt  int
}

// fake is a connector at the edge: a gRPC server without TLS, and the jobs of the system behind it. It records what it is sent.
type fake struct {
	connectorconnect.UnimplementedAsyncConnectorServiceHandler
	connectorconnect.UnimplementedConnectorMetadataServiceHandler

	t      testing.TB
	addr   string
	server *http.Server

	mu       sync.Mutex
	types    []*connectorv2.TaskCategory
	jobs     map[string]*fakeJob // by key
	creates  []*connectorv2.CreateTaskRequest
	gets     []*connectorv2.GetTaskRequest
	deletes  int
	first    func(j *fakeJob)       // sets the state of a new job
	create   func(j *fakeJob) error // what CreateTask answers once the job exists; nil answers its name
	get      func(j *fakeJob) error // what GetTask answers before anything else
	remove   func(n int) error      // what the nth DeleteTask answers, from 1
	meta     []byte                 // what CreateTask answers instead of a name
	hang     <-chan struct{}        // if it is set, ListConnectors and GetTask answer when it is closed
	logs     map[string][]string    // the pages of the log of each job, by the token of the page before; nil for a connector without logs
	logsHang bool                   // GetTaskLogs does not answer
	logCalls int                    // of GetTaskLogs
	hanging  int                    // how many calls have waited for it
	looking  int                    // how many GetTask are not answered
	// metrics is what GetTaskMetrics answers; nil is a connector without metrics.
	metrics func(*connectorv2.GetTaskMetricsRequest) (*connectorv2.GetTaskMetricsResponse, error)
}

func newFake(t testing.TB, types ...string) *fake {
	t.Helper()
	f := &fake{t: t, jobs: map[string]*fakeJob{}}
	for _, name := range types {
		f.types = append(f.types, &connectorv2.TaskCategory{Name: name})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.addr = listener.Addr().String()
	f.serve(listener)
	t.Cleanup(f.down)
	return f
}

func (f *fake) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(connectorconnect.NewAsyncConnectorServiceHandler(f))
	mux.Handle(connectorconnect.NewConnectorMetadataServiceHandler(f))
	return mux
}

func (f *fake) serve(listener net.Listener) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	f.server = &http.Server{Handler: f.handler(), Protocols: protocols}
	go func() { _ = f.server.Serve(listener) }()
}

// losesAnswers makes each new job exist without the caller's knowledge, until the returned function is called.
func (f *fake) losesAnswers() (answers func()) {
	lost := true
	f.create = func(*fakeJob) error {
		if lost {
			return connect.NewError(connect.CodeUnavailable, nil)
		}
		return nil
	}
	return func() { f.with(func() { lost = false }) }
}

// down takes the connector away; up brings it back at the same address.
func (f *fake) down() { _ = f.server.Close() }

func (f *fake) up() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		listener, err := net.Listen("tcp", f.addr)
		if err == nil {
			f.serve(listener)
		}
		return err == nil
	}, wait, tick)
}

func (f *fake) endpoint(name string) connectors.Endpoint {
	return connectors.Endpoint{Name: name, URL: "http://" + f.addr}
}

func (f *fake) ListConnectors(ctx context.Context, _ *connectorv2.ListConnectorsRequest) (*connectorv2.ListConnectorsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hangs(ctx)
	return &connectorv2.ListConnectorsResponse{Connectors: []*connectorv2.Connector{{Name: "Fake Connector", SupportedTaskCategories: f.types}}}, nil
}

func (f *fake) CreateTask(_ context.Context, r *connectorv2.CreateTaskRequest) (*connectorv2.CreateTaskResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.creates = append(f.creates, proto.Clone(r).(*connectorv2.CreateTaskRequest))
	key := r.GetTaskExecutionMetadata().GetAnnotations()[connectors.AnnotationKey]
	job := f.jobs[key]
	if job == nil {
		job = &fakeJob{ID: "job-" + key, Key: key, state: &connectorv2.Resource{Phase: core.TaskExecution_QUEUED}, template: r.GetTemplate().GetType()}
		if f.first != nil {
			f.first(job)
		}
		f.jobs[key] = job
	}
	if f.create != nil {
		if err := f.create(job); err != nil {
			return nil, err
		}
	}
	if f.meta != nil {
		return &connectorv2.CreateTaskResponse{ResourceMeta: f.meta}, nil
	}
	meta, err := json.Marshal(map[string]string{"job_id": job.ID, "key": key})
	return &connectorv2.CreateTaskResponse{ResourceMeta: meta}, err
}

// hangs waits, if the fake hangs.
func (f *fake) hangs(ctx context.Context) {
	if f.hang == nil {
		return
	}
	until := f.hang
	f.hanging++
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-until:
	case <-ctx.Done():
	}
}

func (f *fake) of(meta []byte) (*fakeJob, error) {
	var named struct{ Key string }
	if err := json.Unmarshal(meta, &named); err != nil || f.jobs[named.Key] == nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return f.jobs[named.Key], nil
}

func (f *fake) GetTask(ctx context.Context, r *connectorv2.GetTaskRequest) (*connectorv2.GetTaskResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looking++
	defer func() { f.looking-- }()
	f.hangs(ctx)
	f.gets = append(f.gets, proto.Clone(r).(*connectorv2.GetTaskRequest))
	job, err := f.of(r.GetResourceMeta())
	if err != nil {
		return nil, err
	}
	if f.get != nil {
		if err := f.get(job); err != nil {
			return nil, err
		}
	}
	return &connectorv2.GetTaskResponse{Resource: proto.Clone(job.state).(*connectorv2.Resource)}, nil
}

func (f *fake) GetTaskLogs(
	ctx context.Context, r *connectorv2.GetTaskLogsRequest, out *connect.ServerStream[connectorv2.GetTaskLogsResponse],
) error {
	f.mu.Lock()
	f.logCalls++
	hangs := f.logsHang
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	job, err := f.of(r.GetResourceMeta())
	if err != nil {
		return err
	}
	if f.logs == nil {
		return connect.NewError(connect.CodeUnknown, errors.New("Unexpected <class 'NotImplementedError'>"))
	}
	if r.GetTaskCategory().GetName() != job.template {
		return connect.NewError(connect.CodeNotFound, errors.New("Cannot find connector for task type"))
	}
	page := &connectorv2.GetTaskLogsResponseBody{}
	for _, line := range f.logs[r.GetToken()] {
		page.Lines = append(page.Lines, &dataplane.LogLine{Message: line, Timestamp: timestamppb.New(time.Unix(1, 0))})
	}
	if err := out.Send(&connectorv2.GetTaskLogsResponse{Part: &connectorv2.GetTaskLogsResponse_Body{Body: page}}); err != nil {
		return err
	}
	if following := r.GetToken() + "+"; f.logs[following] != nil {
		return out.Send(&connectorv2.GetTaskLogsResponse{Part: &connectorv2.GetTaskLogsResponse_Header{
			Header: &connectorv2.GetTaskLogsResponseHeader{Token: following},
		}})
	}
	return nil
}

func (f *fake) GetTaskMetrics(_ context.Context, r *connectorv2.GetTaskMetricsRequest) (*connectorv2.GetTaskMetricsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.of(r.GetResourceMeta()); err != nil {
		return nil, err
	}
	if f.metrics == nil {
		return nil, connect.NewError(connect.CodeUnknown, errors.New("Unexpected <class 'NotImplementedError'>"))
	}
	return f.metrics(r)
}

func (f *fake) DeleteTask(_ context.Context, r *connectorv2.DeleteTaskRequest) (*connectorv2.DeleteTaskResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deletes++
	if f.remove != nil {
		if err := f.remove(f.deletes); err != nil {
			return nil, err
		}
	}
	job, err := f.of(r.GetResourceMeta())
	if err != nil {
		return nil, err
	}
	job.deleted = true
	return &connectorv2.DeleteTaskResponse{}, nil
}

// begins sets the state of the jobs that are created from now on.
func (f *fake) begins(state *connectorv2.Resource) {
	f.with(func() { f.first = func(j *fakeJob) { j.state = proto.Clone(state).(*connectorv2.Resource) } })
}

// with changes the fake.
func (f *fake) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// becomes sets the state of all jobs.
func (f *fake) becomes(state *connectorv2.Resource) {
	f.with(func() {
		for _, j := range f.jobs {
			j.state = proto.Clone(state).(*connectorv2.Resource)
		}
	})
}

// has waits until there are as many jobs, and returns them.
func (f *fake) has(n int) []*fakeJob {
	f.t.Helper()
	var all []*fakeJob
	require.Eventually(f.t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		all = nil
		for _, j := range f.jobs {
			all = append(all, j)
		}
		return len(all) == n
	}, wait, tick, "%d jobs", n)
	return all
}

// until waits until something is true of the fake.
func (f *fake) until(what string, is func() bool) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return is()
	}, wait, tick, what)
}

const (
	// wait bounds what a test waits for; it is long, since the machine may be busy.
	wait = 90 * time.Second
	tick = 5 * time.Millisecond
)

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
