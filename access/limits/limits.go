// Package limits bounds what one caller, and one project, asks of the installation: requests a second, open streams, and runs
// created and uploads requested a minute. It decides in the memory of the process. How much a project has under way is limited by the runs service,
// which knows it.
package limits

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// burst is the seconds' worth of requests that an idle caller may make at once.
	burst = 10
	// streamWait is when a refused stream may try again: others end when their clients do.
	streamWait = 5 * time.Second
)

// created is what certain calls create, whose number a minute is limited for a caller and for a project.
type created struct {
	things, does, done        string // "runs", "creates", "created"
	callerField, projectField string
	callerMost, projectMost   int
	callers, projects         *rate
}

func newCreated(things, does, done, callerField string, callerMost int, projectField string, projectMost int) created {
	return created{
		things: things, does: does, done: done, callerField: callerField, projectField: projectField, callerMost: callerMost, projectMost: projectMost,
		callers: newRate(callerMost, time.Minute, callerMost), projects: newRate(projectMost, time.Minute, projectMost),
	}
}

// Limiter is the limits of one process.
type Limiter struct {
	config  Config
	clock   clock.Clock
	refused metric.Int64Counter

	requests *rate
	streams  *places
	created  map[string]created // by the permission of the calls that create it
}

var _ authz.Limiter = (*Limiter)(nil)

// New returns a limiter. meter gets the metric flyte.limits.refused.
func New(config Config, clk clock.Clock, meter metric.MeterProvider) (*Limiter, error) {
	const name = "flyte.limits.refused"
	refused, err := meter.Meter("github.com/flyte-binary/flyte-binary/access/limits").Int64Counter(name,
		metric.WithDescription("calls and streams that were refused because a caller or a project has reached a limit, by limit"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return &Limiter{
		config: config, clock: clk, refused: refused,
		requests: newRate(config.RequestsPerSecond, time.Second, burst*config.RequestsPerSecond),
		streams:  newPlaces(config.Streams),
		created: map[string]created{
			"run.create": newCreated("runs", "creates", "created",
				"runsPerMinute", config.RunsPerMinute, "projectRunsPerMinute", config.ProjectRunsPerMinute),
			"data.upload": newCreated("uploads", "requests", "requested",
				"uploadsPerMinute", config.UploadsPerMinute, "projectUploadsPerMinute", config.ProjectUploadsPerMinute),
		},
	}, nil
}

// Request implements authz.Limiter.
func (l *Limiter) Request(ctx context.Context, identity authz.Identity) error {
	key, limited := person(identity)
	if !limited {
		return nil
	}
	if wait := l.requests.take(key, l.clock.Now()); wait > 0 {
		return l.refuse(ctx, "requests", wait, "%s makes more than %d requests a second, which is the limit (access.limits.requestsPerSecond)",
			key, l.config.RequestsPerSecond)
	}
	return nil
}

// Stream implements authz.Limiter.
func (l *Limiter) Stream(ctx context.Context, identity authz.Identity) (release func(), err error) {
	key, limited := person(identity)
	if !limited {
		return func() {}, nil
	}
	leave, ok := l.streams.enter(key)
	if !ok {
		return nil, l.refuse(ctx, "streams", streamWait, "%s has %d open streams, which is the limit (access.limits.streams); end some",
			key, l.config.Streams)
	}
	return leave, nil
}

// Call implements authz.Limiter. Only calls that create runs and that request uploads count.
func (l *Limiter) Call(ctx context.Context, identity authz.Identity, rule authz.Rule, resources []authz.Resource) error {
	c, counts := l.created[rule.Action]
	if !counts {
		return nil
	}
	now := l.clock.Now()
	if key, limited := person(identity); limited {
		if wait := c.callers.take(key, now); wait > 0 {
			return l.refuse(ctx, c.things, wait, "%s %s more than %d %s a minute, which is the limit (access.limits.%s)",
				key, c.does, c.callerMost, c.things, c.callerField)
		}
	}
	project, named := place(resources)
	if !named {
		return nil
	}
	if wait := c.projects.take(project, now); wait > 0 {
		return l.refuse(ctx, "project "+c.things, wait, "more than %d %s a minute are %s in project %s, which is the limit (access.limits.%s)",
			c.projectMost, c.things, c.done, project, c.projectField)
	}
	return nil
}

// refuse counts a refusal and returns its error.
func (l *Limiter) refuse(ctx context.Context, limit string, wait time.Duration, format string, args ...any) error {
	l.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("limit", limit)))
	return rpc.TryLater(wait, format+"; try again in %s", append(args, inWords(wait))...)
}

// inWords is a wait for people: in milliseconds below a second, else in seconds.
func inWords(wait time.Duration) time.Duration {
	unit := time.Second
	if wait < unit {
		unit = time.Millisecond
	}
	return (wait + unit - 1).Truncate(unit)
}

// person is the name of a caller who has limits of its own. Anonymous callers look the same, tasks count for their
// project, and parts of the installation work for others.
func person(identity authz.Identity) (name string, limited bool) {
	switch identity.Kind {
	case authz.User, authz.Key:
		return identity.Kind.String() + " " + identity.Subject, true
	default:
		return "", false
	}
}

// place is the project in which a call does what its rule says.
func place(resources []authz.Resource) (project string, named bool) {
	for _, resource := range resources {
		if resource.Permission == "" && resource.Project != "" {
			return resource.Project, true
		}
	}
	return "", false
}
