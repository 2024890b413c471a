// Package rpc is the common part of all Connect services: domain errors and their mapping to codes, the gate and the
// interceptor chain, the limits of requests, the transport between services of one process, and reflection. The rules that it enforces are
// those of package authz. All services import it, and it imports none of them. It is the
// only package that creates connect errors.
package rpc

import (
	"context"
	"crypto/tls"
	"fmt"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Chain configures the interceptors. The zero value works: no log, no telemetry, every caller anonymous and allowed,
// internal procedures only in the same process.
type Chain struct {
	// Log receives panics and failures.
	Log zerolog.Logger
	// Tracer and Meter receive spans and metrics of each call; nil means none.
	Tracer trace.TracerProvider
	Meter  metric.MeterProvider
	// Authenticator identifies callers; nil means authz.Open.
	Authenticator authz.Authenticator
	// Authoriser decides about calls; nil means authz.AllowAll.
	Authoriser authz.Authoriser
	// Limiter bounds what callers ask for; nil means authz.Unlimited.
	Limiter authz.Limiter
	// Auditor records what callers do; nil means that nothing is recorded.
	Auditor authz.Auditor
	// Stopping ends the streams of clients when it ends, before the server itself does; nil means never.
	Stopping context.Context //nolint:containedctx // it is the signal
	// InternalToken is the internal credential; empty means that no caller from the network is internal.
	InternalToken string
	// InternalPeer reports whether the internal credential counts on a connection; nil means on each.
	InternalPeer func(*tls.ConnectionState) bool
	// Limits bound what requests cost before a handler sees them.
	Limits Limits
	// Clock is the time of what limits the log; nil means the system's.
	Clock clock.Clock
}

// Interceptors is the chain that every call passes. Before its request is read: the gate, which authenticates the caller
// refuses procedures by the table, and counts the request. Then: recover, telemetry, places of streams, authorize, validate, errors, endings of streams,
// handler. Authorization reads the resources of a request before validation, so that a caller learns nothing about resources
// without permission; a malformed identifier is a resource that no policy names. It panics only if the instruments cannot be
// created, which no input causes.
func Interceptors(chain Chain) connect.HandlerOption {
	made, err := chain.make()
	if err != nil {
		panic(err)
	}
	return made.options
}

// links are the parts of a chain.
type links struct {
	gate      *gate
	intake    *intake
	authorise *authorisation
	limiter   *limiter
	options   connect.HandlerOption
}

func (c Chain) make() (*links, error) {
	c = c.withDefaults()
	telemetry, err := c.telemetry()
	if err != nil {
		return nil, err
	}
	meter := c.Meter.Meter("github.com/flyte-binary/flyte-binary/internal/wire/rpc")
	refusals, err := newRefusals(meter, c.Clock)
	if err != nil {
		return nil, err
	}
	limited := &limiter{c.Limiter}
	l := &links{
		limiter:   limited,
		gate:      &gate{log: c.Log, authenticator: c.Authenticator, internal: internal{c.InternalToken, c.InternalPeer}, refusals: refusals, audit: audit{c.Auditor}, limiter: limited},
		authorise: &authorisation{Decider: authz.Decider{Authoriser: c.Authoriser}, audit: audit{c.Auditor}, limiter: limited, clock: c.Clock},
	}
	l.authorise.gate = l.gate
	if l.intake, err = newIntake(c.Limits, meter, c.Log, refusals); err != nil {
		return nil, err
	}
	l.options = connect.WithHandlerOptions(
		connect.WithRequestGate(l.gate.request),
		connect.WithConditionalHandlerOptions(l.intake.options),
		connect.WithRecover(recovered),
		connect.WithInterceptors(telemetry, decodedInterceptor{}, endStreams{c.Stopping}, l.limiter, l.authorise, validation{}, mapErrors(), endings{}),
	)
	return l, nil
}

func (c Chain) withDefaults() Chain {
	if c.Authenticator == nil {
		c.Authenticator = authz.Open{}
	}
	if c.Authoriser == nil {
		c.Authoriser = authz.AllowAll{}
	}
	if c.Limiter == nil {
		c.Limiter = authz.Unlimited{}
	}
	if c.Tracer == nil {
		c.Tracer = tracenoop.NewTracerProvider()
	}
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.Meter == nil {
		c.Meter = metricnoop.NewMeterProvider()
	}
	return c
}

func (c Chain) telemetry() (connect.Interceptor, error) {
	interceptor, err := otelconnect.NewInterceptor(
		otelconnect.WithTracerProvider(c.Tracer),
		otelconnect.WithMeterProvider(c.Meter),
		otelconnect.WithTrustRemote(), // a task's spans are children of its run's
		otelconnect.WithPropagator(propagation.TraceContext{}),
		// A handler of such a stream receives in a goroutine that ends just after it; the interceptor writes to what both use. A
		// session of hours is not a span either.
		otelconnect.WithFilter(func(_ context.Context, spec connect.Spec) bool { return spec.StreamType != connect.StreamTypeBidi }),
	)
	if err != nil {
		return nil, fmt.Errorf("create rpc telemetry: %w", err)
	}
	return interceptor, nil
}
