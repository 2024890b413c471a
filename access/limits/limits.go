// Package limits bounds what one caller, and one project, asks of the installation: requests a second, open streams, sizes of requests,
// and runs created and uploads requested a minute. It decides in the memory of the process. How much a person and a project have under
// way is limited by the runs service, which knows it.
package limits

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// burst is the seconds' worth of requests that an idle caller may make at once.
	burst = 10
	// streamWait is when a refused stream may try again: others end when their clients do.
	streamWait = 5 * time.Second
)

// Limiter is the limits of one process.
type Limiter struct {
	clock   clock.Clock
	refused metric.Int64Counter

	requests, streams, sizes pair
	created                  map[string]pair // by the permission of the calls that create something
}

var _ authz.Limiter = (*Limiter)(nil)

// New returns a limiter. meter gets the metric flyte.limits.refused.
func New(c Config, clk clock.Clock, meter metric.MeterProvider) (*Limiter, error) {
	const name = "flyte.limits.refused"
	refused, err := meter.Meter("github.com/flyte-binary/flyte-binary/access/limits").Int64Counter(name,
		metric.WithDescription("calls and streams that were refused because a caller or a project has reached a limit, by limit"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return &Limiter{
		clock: clk, refused: refused,
		requests: pair{
			caller:  perSecond("requests", "requestsPerSecond", c.RequestsPerSecond, "%s makes more than %d requests a second"),
			project: perSecond("project requests", "projectRequestsPerSecond", c.ProjectRequestsPerSecond, "project %s gets more than %d requests a second"),
		},
		streams: pair{
			caller:  atOnce("streams", "streams", c.Streams, "%s has %d open streams"),
			project: atOnce("project streams", "projectStreams", c.ProjectStreams, "project %s has %d open streams"),
		},
		sizes: pair{
			caller:  atMost("request bytes", "requestBytes", c.RequestBytes, "the request of %s has more than %d bytes"),
			project: atMost("project request bytes", "projectRequestBytes", c.ProjectRequestBytes, "the request in project %s has more than %d bytes"),
		},
		created: map[string]pair{
			"run.create": {
				caller:  perMinute("runs", "runsPerMinute", c.RunsPerMinute, "%s creates more than %d runs a minute"),
				project: perMinute("project runs", "projectRunsPerMinute", c.ProjectRunsPerMinute, "more than %[2]d runs a minute are created in project %[1]s"),
			},
			"data.upload": {
				caller:  perMinute("uploads", "uploadsPerMinute", c.UploadsPerMinute, "%s requests more than %d uploads a minute"),
				project: perMinute("project uploads", "projectUploadsPerMinute", c.ProjectUploadsPerMinute, "more than %[2]d uploads a minute are requested in project %[1]s"),
			},
		},
	}, nil
}

// Request implements authz.Limiter.
func (l *Limiter) Request(ctx context.Context, identity authz.Identity) error {
	if key, limited := person(identity); limited {
		return l.take(ctx, l.requests.caller, key)
	}
	return nil
}

// Stream implements authz.Limiter.
func (l *Limiter) Stream(ctx context.Context, identity authz.Identity) (release func(), err error) {
	if key, limited := person(identity); limited {
		return l.enter(ctx, l.streams.caller, key)
	}
	return func() {}, nil
}

// Names implements authz.Limiter.
func (l *Limiter) Names(ctx context.Context, identity authz.Identity, project string) (release func(), err error) {
	if !ofProjects(identity) {
		return func() {}, nil
	}
	if err := l.take(ctx, l.requests.project, project); err != nil {
		return nil, err
	}
	return l.enter(ctx, l.streams.project, project)
}

// Call implements authz.Limiter. What it creates counts if it is runs or uploads.
func (l *Limiter) Call(ctx context.Context, identity authz.Identity, call authz.Call) error {
	created := l.created[call.Rule.Action]
	if key, limited := person(identity); limited {
		if err := l.measure(ctx, l.sizes.caller, key, call.Size); err != nil {
			return err
		}
		if created.caller.rate != nil {
			if err := l.take(ctx, created.caller, key); err != nil {
				return err
			}
		}
	}
	project, named := authz.ProjectOf(call.Resources)
	if !named || !ofProjects(identity) {
		return nil
	}
	if err := l.measure(ctx, l.sizes.project, project, call.Size); err != nil {
		return err
	}
	if err := l.take(ctx, l.requests.project, project); err != nil || created.project.rate == nil {
		return err
	}
	return l.take(ctx, created.project, project)
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

// ofProjects reports whether calls of a caller count for the projects that they name. Those of parts of the installation do not.
func ofProjects(identity authz.Identity) bool {
	switch identity.Kind {
	case authz.User, authz.Key, authz.Task, authz.Anonymous:
		return true
	default:
		return false
	}
}
