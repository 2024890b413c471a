package stack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

const (
	// beatEvery is how often a controller says that it is there, as a real one does.
	beatEvery = 3 * time.Second
	// reportEvery is how long a controller collects what it reports in one call.
	reportEvery = 100 * time.Millisecond
)

// Controllers plays the controllers of clusters: each has a credential, a connection, a link with beats, and the streams of assignments,
// workers and apps that a real one has. It reports that roots run and that children have succeeded, as soon as it gets them; it keeps what
// it had before.
type Controllers struct {
	stack *Stack
	mu    sync.Mutex
	seen  map[int64]time.Time // GUARDED_BY(mu): when each child came
	roots int                 // GUARDED_BY(mu): that run
	held  int                 // GUARDED_BY(mu): actions of the snapshots
	bad   []error             // GUARDED_BY(mu)

	secrets map[string]string // of the clusters that were added, by their name
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// NewControllers returns those of a stack without a cluster.
func NewControllers(s *Stack) *Controllers {
	return &Controllers{stack: s, secrets: map[string]string{}, seen: map[int64]time.Time{}}
}

// Connect registers clusters until there are n, and connects all of them. It returns when each has its snapshot.
func (c *Controllers) Connect(ctx context.Context, n int) error {
	registry := clustersv1connect.NewClusterRegistryServiceClient(&http.Client{Transport: c.stack.Transport}, c.stack.URL)
	c.Close()
	running, cancel := context.WithCancel(ctx)
	c.cancel = cancel
	c.mu.Lock()
	c.held = 0
	c.mu.Unlock()
	ready := make(chan struct{}, n)
	for i := range n {
		name := ClusterName(i)
		if c.secrets[name] == "" {
			added, err := registry.AddCluster(ctx, &clustersv1.AddClusterRequest{Name: name})
			if err != nil {
				return fmt.Errorf("add cluster %s: %w", name, err)
			}
			c.secrets[name] = added.GetSecret()
		}
		c.running.Go(func() {
			one := &controller{all: c, name: name, done: make(chan *enginev1.Transition, 10_000)}
			if err := one.run(running, c.secrets[name], ready); err != nil && running.Err() == nil {
				c.fail(fmt.Errorf("cluster %s: %w", name, err))
			}
		})
	}
	for range n {
		select {
		case <-ready:
		case <-time.After(time.Minute):
			return errors.Join(append(c.failures(), errors.New("a controller got no snapshot within a minute"))...)
		}
	}
	return errors.Join(c.failures()...)
}

// ClusterName is the name of a cluster, by its number.
func ClusterName(i int) string { return fmt.Sprintf("c%03d", i) }

// Close disconnects all.
func (c *Controllers) Close() {
	if c.cancel != nil {
		c.cancel()
		c.running.Wait()
	}
}

// Seen takes when each child came since the last call.
func (c *Controllers) Seen() (map[int64]time.Time, error) {
	c.mu.Lock()
	seen := c.seen
	c.seen = map[int64]time.Time{}
	c.mu.Unlock()
	return seen, errors.Join(c.failures()...)
}

// Count is how many children came since the last call of Seen, how many roots run, and how many actions the snapshots had.
func (c *Controllers) Count() (children, roots, held int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen), c.roots, c.held
}

func (c *Controllers) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad = append(c.bad, err)
}

func (c *Controllers) failures() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bad
}

// controller is that of one cluster.
type controller struct {
	all  *Controllers
	name string
	done chan *enginev1.Transition
}

// run opens everything and works until the context ends.
func (c *controller) run(ctx context.Context, secret string, ready chan<- struct{}) error {
	client := NewClient(c.all.stack.URL, "")
	defer client.Close()
	over := &http.Client{Transport: presenting{secret, client.Transport}}
	url := c.all.stack.URL
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	part := func(what string, do func() error) {
		parts.Go(func() {
			if err := do(); err != nil {
				cancel(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	linked := make(chan struct{})
	engine := enginev1connect.NewEngineServiceClient(over, url)
	part("link", func() error { return c.link(ctx, clustersv1connect.NewClusterLinkServiceClient(over, url), linked) })
	part("assignments", func() error {
		select {
		case <-linked:
		case <-ctx.Done():
			return nil
		}
		return c.assignments(ctx, engine, ready)
	})
	part("workers", func() error {
		stream, err := enginev1connect.NewWorkerFleetServiceClient(over, url).WatchWorkers(ctx, &enginev1.WatchWorkersRequest{Cluster: c.name})
		return drain(stream, err)
	})
	part("apps", func() error {
		stream, err := enginev1connect.NewAppFleetServiceClient(over, url).WatchApps(ctx, &enginev1.WatchAppsRequest{Cluster: c.name})
		return drain(stream, err)
	})
	part("reports", func() error { return c.report(ctx, engine) })
	parts.Wait()
	return context.Cause(ctx)
}

// drain reads a stream that has nothing for this controller.
func drain[M any](stream *connect.ServerStreamForClient[M], err error) error {
	if err != nil {
		return err
	}
	for stream.Receive() {
	}
	return errors.Join(errors.New("the stream ended"), stream.Err())
}

// plenty is what a cluster has of each resource: room is never missing.
const plenty = 1 << 50

func (c *controller) link(ctx context.Context, links clustersv1connect.ClusterLinkServiceClient, linked chan<- struct{}) error {
	amounts := map[string]int64{"cpu": plenty, "memory": plenty, "ephemeral-storage": plenty}
	stream, err := links.Connect(ctx, &clustersv1.ConnectRequest{
		Cluster: c.name, Instance: c.name + "-0", Plugins: []string{"pod"}, TaskTypes: []string{"python"}, Labels: map[string]string{"region": c.name},
		Nodes: &clustersv1.NodeSummary{Known: true, Capacity: amounts, Free: amounts, Largest: amounts},
	})
	if err != nil {
		return err
	}
	for stream.Receive() {
		id := stream.Msg().GetWelcome().GetLink()
		if id == "" {
			continue
		}
		close(linked)
		go func() {
			for Pause(ctx, beatEvery) == nil {
				if _, err := links.Beat(ctx, &clustersv1.BeatRequest{Cluster: c.name, Instance: c.name + "-0", Link: id}); err != nil && ctx.Err() == nil {
					c.all.fail(fmt.Errorf("beat of %s: %w", c.name, err))
				}
			}
		}()
	}
	return errors.Join(errors.New("the stream ended"), stream.Err())
}

func (c *controller) assignments(ctx context.Context, engine enginev1connect.EngineServiceClient, ready chan<- struct{}) error {
	stream, err := engine.WatchAssignments(ctx, &enginev1.WatchAssignmentsRequest{Cluster: c.name})
	if err != nil {
		return err
	}
	complete := false
	for stream.Receive() {
		message := stream.Msg()
		switch {
		case message.GetAssignment() != nil:
			c.take(ctx, message.GetAssignment())
		case message.GetLive() != nil:
			c.all.mu.Lock()
			c.all.held += len(message.GetLive().GetRefs())
			c.all.mu.Unlock()
		case message.GetSentinel() != nil && !complete:
			complete = true
			ready <- struct{}{}
		}
	}
	return errors.Join(errors.New("the stream ended"), stream.Err())
}

// take notes an assignment, and reports that its root runs or that its child has succeeded.
func (c *controller) take(ctx context.Context, a *enginev1.Assignment) {
	now := time.Now()
	event := &workflow.ActionEvent{
		Id: a.GetRef().GetId(), Attempt: a.GetAttempt(), Cluster: c.name, UpdatedTime: timestamppb.New(now), ReportedTime: timestamppb.New(now),
		Phase: common.ActionPhase_ACTION_PHASE_RUNNING,
	}
	if a.GetParent() != "" {
		event.Phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
		c.all.mu.Lock()
		c.all.seen[a.GetRef().GetUid()] = now
		c.all.mu.Unlock()
	}
	select {
	case c.done <- &enginev1.Transition{Event: event, BeginsReport: true, Placement: proto.Uint32(a.GetRef().GetPlacement())}:
	case <-ctx.Done():
	}
}

// report sends what came within a short time in one call, as a real controller does.
func (c *controller) report(ctx context.Context, engine enginev1connect.EngineServiceClient) error {
	for Pause(ctx, reportEvery) == nil {
		var all []*enginev1.Transition
		for len(c.done) > 0 {
			all = append(all, <-c.done)
		}
		if len(all) == 0 {
			continue
		}
		answer, err := engine.RecordTransitions(ctx, &enginev1.RecordTransitionsRequest{Transitions: all})
		if err != nil {
			return err
		}
		for i, outcome := range answer.GetOutcomes() {
			switch {
			case outcome != enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED:
				return fmt.Errorf("a report of %s was not applied: %s", all[i].GetEvent().GetId().GetName(), outcome)
			case all[i].GetEvent().GetPhase() == common.ActionPhase_ACTION_PHASE_RUNNING:
				c.all.mu.Lock()
				c.all.roots++
				c.all.mu.Unlock()
			}
		}
	}
	return nil
}

// presenting is a transport that presents a credential.
type presenting struct {
	secret string
	over   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p presenting) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+p.secret)
	return p.over.RoundTrip(r)
}
