// Package leader elects one of the replicas by a Kubernetes Lease. What runs on the leader only, runs there together: all
// of it starts with the term of a replica, and all of it has stopped before the replica releases the Lease.
package leader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// minDuration keeps renewals from being a load of their own.
const minDuration = 3 * time.Second

// Config configures an election.
type Config struct {
	// Namespace has the Lease. It is created if it does not exist.
	Namespace string
	// Name is the name of the Lease.
	Name string
	// Duration is how long the Lease holds without renewal, and so how long nobody leads after a crash. At least 3 s.
	Duration time.Duration
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Namespace == "", "namespace: is required")
	found.If(c.Name == "", "name: is required")
	found.If(c.Duration < minDuration, "duration: must be at least %s, got %s", minDuration, c.Duration)
	return found.Err()
}

// Deps are what an election needs.
type Deps struct {
	// Kubernetes reaches the API server. Required.
	Kubernetes *rest.Config
	// Identity tells this replica from others; empty means the host's name and a random part.
	Identity string
	Logger   zerolog.Logger
}

// Election runs for the Lease between Start and Stop.
type Election struct {
	background lifecycle.Background
	config     Config
	identity   string
	client     kubernetes.Interface
	logger     zerolog.Logger

	mu    sync.Mutex
	term  *term         // GUARDED_BY(mu): nil while another replica leads
	began chan struct{} // GUARDED_BY(mu): closed and replaced when a term begins
}

var _ lifecycle.Part = (*Election)(nil)

// New returns an election. It makes no calls before Start.
func New(config Config, deps Deps) (*Election, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("leader: %w", err)
	}
	e := &Election{config: config, identity: deps.Identity, logger: deps.Logger, began: make(chan struct{})}
	if deps.Kubernetes == nil {
		return nil, errors.New("leader: the configuration of the cluster is required")
	}
	client, err := kubernetes.NewForConfig(deps.Kubernetes)
	if err != nil {
		return nil, fmt.Errorf("leader: make Kubernetes client: %w", err)
	}
	e.client = client
	if e.identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("leader: read host name: %w", err)
		}
		e.identity = host + "-" + rand.Text()
	}
	return e, nil
}

// Start implements lifecycle.Part. It does not wait for the Lease, nor for the API server, which may be unavailable.
func (e *Election) Start(ctx context.Context) error {
	return e.background.Run(ctx, e.run)
}

// Stop implements lifecycle.Part: it ends the term, waits for the work of this replica, and releases the Lease.
func (e *Election) Stop(ctx context.Context) error { return e.background.Stop(ctx) }

// While calls work in each term of this replica, with a context that ends with the term, and waits for it. It returns when
// ctx ends. All such work runs in the same terms.
func (e *Election) While(ctx context.Context, work func(ctx context.Context)) {
	for {
		current := e.join(ctx)
		if current == nil {
			return
		}
		current.run(ctx, work)
	}
}

// join waits for a term and takes part in it; nil when ctx ended first.
func (e *Election) join(ctx context.Context) *term {
	for ctx.Err() == nil {
		e.mu.Lock()
		current, began := e.term, e.began
		if current != nil {
			current.works.Add(1)
		}
		e.mu.Unlock()
		if current != nil {
			return current
		}
		select {
		case <-began:
		case <-ctx.Done():
		}
	}
	return nil
}
