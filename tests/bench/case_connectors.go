package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector/connectorconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// jobType is the type of the tasks that the connector of the bench runs.
const jobType = "bench_job"

// instantConnector is a connector whose jobs run until the case lets them end. It answers at once.
type instantConnector struct {
	connectorconnect.UnimplementedAsyncConnectorServiceHandler
	connectorconnect.UnimplementedConnectorMetadataServiceHandler

	created, looks atomic.Int64
	over           atomic.Bool
}

func (c *instantConnector) ListConnectors(context.Context, *connector.ListConnectorsRequest) (*connector.ListConnectorsResponse, error) {
	return &connector.ListConnectorsResponse{Connectors: []*connector.Connector{{
		Name: "bench", SupportedTaskCategories: []*connector.TaskCategory{{Name: jobType}},
	}}}, nil
}

func (c *instantConnector) CreateTask(context.Context, *connector.CreateTaskRequest) (*connector.CreateTaskResponse, error) {
	return &connector.CreateTaskResponse{ResourceMeta: fmt.Appendf(nil, `{"job_id": "job-%d"}`, c.created.Add(1))}, nil
}

func (c *instantConnector) GetTask(context.Context, *connector.GetTaskRequest) (*connector.GetTaskResponse, error) {
	c.looks.Add(1)
	state := &connector.Resource{Phase: core.TaskExecution_RUNNING, Message: "the job runs"}
	if c.over.Load() {
		state = &connector.Resource{Phase: core.TaskExecution_SUCCEEDED, Outputs: &task.Outputs{}}
	}
	return &connector.GetTaskResponse{Resource: state}, nil
}

func (c *instantConnector) DeleteTask(context.Context, *connector.DeleteTaskRequest) (*connector.DeleteTaskResponse, error) {
	return &connector.DeleteTaskResponse{}, nil
}

// serve serves the connector, and returns what the server must know of it.
func (c *instantConnector) serve(ctx context.Context) (endpoints string, stop func(), err error) {
	mux := http.NewServeMux()
	mux.Handle(connectorconnect.NewAsyncConnectorServiceHandler(c))
	mux.Handle(connectorconnect.NewConnectorMetadataServiceHandler(c))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: mux, Protocols: protocols, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	body, err := json.Marshal([]map[string]any{{"name": "bench", "url": "http://" + listener.Addr().String(), "concurrency": 64}})
	return string(body), func() { _ = server.Close() }, err
}

// measureConnectors has n jobs of a connector in flight at once, and measures what they cost while nothing changes, and how fast
// they begin and end. settle is how long the jobs run before that: the pauses between looks grow with their age.
func measureConnectors(n, callers int, settle, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		c := &instantConnector{}
		endpoints, stop, err := c.serve(ctx)
		if err != nil {
			return err
		}
		defer stop()
		s.Env = append(s.Env, "FLYTE_CONNECTORS_ENDPOINTS="+endpoints)
		defer func() { s.Env = s.Env[:len(s.Env)-1] }()
		if err := s.RestartServer(ctx, r); err != nil {
			return err
		}
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		spec := stack.PythonTask("job")
		spec.TaskTemplate.Type, spec.TaskTemplate.GetContainer().Args = jobType, nil
		if err := s.WriteSleep(stack.HeldSleep, 0); err != nil {
			return err
		}
		enqueue := func(name string) error { return s.EnqueueJob(ctx, p.Action, name, spec) }
		if err := insist(ctx, func() error { return enqueue("first") }); err != nil { // until the server knows what the connector serves
			return err
		}
		if err := addMemory(s, r, "at the start", false); err != nil {
			return err
		}
		began := time.Now()
		taken, err := stack.Each(n, callers, childName, enqueue)
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		r.Add("Enqueue", float64(n)/time.Since(began).Seconds(), "/s")
		r.Latency("Enqueue", taken)
		if err := insist(ctx, func() error {
			if made := c.created.Load(); made < int64(n)+1 {
				return fmt.Errorf("%d of %d jobs exist", made, n+1)
			}
			return nil
		}); err != nil {
			return err
		}
		r.Add("jobs started", float64(n)/time.Since(began).Seconds(), "/s")
		if err := stack.Pause(ctx, settle); err != nil {
			return err
		}
		looks, watched := c.looks.Load(), time.Now()
		if err := quietly(ctx, s, r, quiet, meanwhile); err != nil {
			return err
		}
		r.Add("looks "+meanwhile, float64(c.looks.Load()-looks)/time.Since(watched).Seconds(), "/s")
		if err := addMemory(s, r, "with all of them in flight", true); err != nil {
			return err
		}
		c.over.Store(true)
		ending := time.Now()
		last, err := p.AwaitAll(ctx, n+1)
		if err != nil {
			return err
		}
		r.Add("jobs ended", float64(n)/last.Sub(ending).Seconds(), "/s")
		return p.Finish(ctx)
	}
}

// insist repeats what fails until it works or the context ends.
func insist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		if stack.Pause(ctx, 200*time.Millisecond) != nil {
			return err
		}
	}
}
