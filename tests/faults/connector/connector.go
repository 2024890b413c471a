package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"

	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector/connectorconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// Token is what the server must show.
const Token = "of-the-connector"

// MaxErrors is after how many errors in a row the server may give a job up.
const MaxErrors = 5

// Mode is how calls are answered.
type Mode int

// The modes.
const (
	Healthy   Mode = iota
	Confused       // a third of the looks at jobs get errors
	Forgetful      // half of all calls do what they are for, and their answers are lost
)

// annotationKey has the idempotency key of an attempt.
const annotationKey = "flyte.org/idempotency-key"

// Server is the connector and its system. It is safe for concurrent use.
type Server struct {
	connectorconnect.UnimplementedAsyncConnectorServiceHandler
	connectorconnect.UnimplementedConnectorMetadataServiceHandler

	addr   string
	server *http.Server
	ledger string // directory of the ledger

	mu    sync.Mutex
	mode  Mode            // GUARDED_BY(mu)
	jobs  map[string]*job // GUARDED_BY(mu): by idempotency key
	wrong []string        // GUARDED_BY(mu): what was sent and should not have been
}

// New starts a connector on a free port of this machine. Its jobs keep their notes in a directory.
func New(ledger string) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
	if err != nil {
		return nil, fmt.Errorf("connector: %w", err)
	}
	s := &Server{addr: listener.Addr().String(), ledger: ledger, jobs: map[string]*job{}}
	mux := http.NewServeMux()
	mux.Handle(connectorconnect.NewAsyncConnectorServiceHandler(s))
	mux.Handle(connectorconnect.NewConnectorMetadataServiceHandler(s))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s.server = &http.Server{Handler: s.checked(mux), Protocols: protocols, ReadHeaderTimeout: time.Minute}
	go s.server.Serve(listener) //nolint:errcheck // until Close
	return s, nil
}

// Addr is its address.
func (s *Server) Addr() string { return s.addr }

// Close ends it. Its jobs stop.
func (s *Server) Close() {
	_ = s.server.Close()
	s.Forget()
}

// Set changes how calls are answered from now on.
func (s *Server) Set(mode Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
}

// Lose makes up to n jobs that run vanish: the system no longer knows them.
func (s *Server) Lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs { // in any order
		if n > 0 && j.live() {
			j.stop(lost)
			n--
		}
	}
}

// Forget removes all jobs, once a storm is over.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		j.close()
	}
	clear(s.jobs)
	s.wrong = nil
}

// Jobs are those that were started since the last Forget, and what was wrong with the calls.
func (s *Server) Jobs() ([]Job, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Job, 0, len(s.jobs))
	for _, j := range s.jobs {
		all = append(all, j.Job)
	}
	return all, slices.Clone(s.wrong)
}

// checked answers calls that do not show the token as a system does.
func (s *Server) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if shown := r.Header.Get("Authorization"); shown != "Bearer "+Token {
			s.mu.Lock()
			s.complain("%s showed %q", r.URL.Path, shown)
			s.mu.Unlock()
			http.Error(w, "", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// complain notes something that should not have been sent.
func (s *Server) complain(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// answered loses some answers.
func (s *Server) answered() error {
	if s.mode == Forgetful && rand.N(2) == 0 {
		return connect.NewError(connect.CodeUnavailable, errors.New("the answer is lost"))
	}
	return nil
}

// ListConnectors implements connectorconnect.ConnectorMetadataServiceHandler.
func (s *Server) ListConnectors(context.Context, *connectorv2.ListConnectorsRequest) (*connectorv2.ListConnectorsResponse, error) {
	return &connectorv2.ListConnectorsResponse{Connectors: []*connectorv2.Connector{{
		Name: "Storm Connector", SupportedTaskCategories: []*connectorv2.TaskCategory{{Name: script.JobType}},
	}}}, nil
}

// CreateTask implements connectorconnect.AsyncConnectorServiceHandler. A key that it has already gets the job that it has.
func (s *Server) CreateTask(_ context.Context, r *connectorv2.CreateTaskRequest) (*connectorv2.CreateTaskResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.GetTaskExecutionMetadata().GetAnnotations()[annotationKey]
	j := s.jobs[key]
	if j == nil {
		var err error
		if j, err = s.begin(key, r); err != nil {
			s.complain("CreateTask with the key %q: %v", key, err)
			return nil, connect.NewError(connect.CodeInvalidArgument, err)
		}
		s.jobs[key] = j
	}
	if err := s.answered(); err != nil {
		return nil, err
	}
	meta, err := json.Marshal(map[string]string{"job_id": key})
	return &connectorv2.CreateTaskResponse{ResourceMeta: meta}, err
}

// of finds a job by what CreateTask answered.
func (s *Server) of(meta []byte) (*job, error) {
	var named struct {
		Key string `json:"job_id"`
	}
	if err := json.Unmarshal(meta, &named); err != nil || named.Key == "" {
		s.complain("a job has the name %q", meta)
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	j := s.jobs[named.Key]
	if j == nil || j.Lost {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("there is no such job"))
	}
	return j, nil
}

// GetTask implements connectorconnect.AsyncConnectorServiceHandler.
func (s *Server) GetTask(_ context.Context, r *connectorv2.GetTaskRequest) (*connectorv2.GetTaskResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.of(r.GetResourceMeta())
	if err != nil {
		return nil, err
	}
	if s.mode == Confused && rand.N(3) == 0 {
		if j.errors++; j.errors >= MaxErrors {
			j.GivenUp = true
		}
		return nil, connect.NewError(connect.CodeInternal, errors.New("the system is confused"))
	}
	j.errors = 0
	if r.GetOutputPrefix() != j.dir {
		s.complain("GetTask of %s has the directory %q", j.Key, r.GetOutputPrefix())
	}
	state, err := j.look()
	if err == nil {
		err = s.answered()
	}
	if err != nil {
		return nil, err
	}
	return &connectorv2.GetTaskResponse{Resource: state}, nil
}

// GetTaskLogs implements connectorconnect.AsyncConnectorServiceHandler: a log is one line, which tells whose job it is.
func (s *Server) GetTaskLogs(
	_ context.Context, r *connectorv2.GetTaskLogsRequest, out *connect.ServerStream[connectorv2.GetTaskLogsResponse],
) error {
	s.mu.Lock()
	j, err := s.of(r.GetResourceMeta())
	if err == nil {
		err = s.answered()
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return out.Send(&connectorv2.GetTaskLogsResponse{Part: &connectorv2.GetTaskLogsResponse_Body{Body: &connectorv2.GetTaskLogsResponseBody{
		Lines: []*dataplane.LogLine{{Message: "job: of " + j.node.Tenant.Content}},
	}}})
}

// DeleteTask implements connectorconnect.AsyncConnectorServiceHandler.
func (s *Server) DeleteTask(_ context.Context, r *connectorv2.DeleteTaskRequest) (*connectorv2.DeleteTaskResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.of(r.GetResourceMeta())
	if err != nil {
		return nil, err
	}
	if j.live() {
		j.stop(deleted)
	}
	return &connectorv2.DeleteTaskResponse{}, s.answered()
}

// running is the state of a job that has not ended.
func running() *connectorv2.Resource { return &connectorv2.Resource{Phase: core.TaskExecution_RUNNING} }
