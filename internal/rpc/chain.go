package rpc

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Chain configures the interceptors. The zero value works: no log, no telemetry, every caller anonymous and allowed,
// internal procedures only in the same process.
type Chain struct {
	// Log receives panics and failures.
	Log zerolog.Logger
	// Tracer and Meter receive spans and metrics of each call; nil means none.
	Tracer trace.TracerProvider
	Meter  metric.MeterProvider
	// Authenticator identifies callers; nil means Anonymous.
	Authenticator Authenticator
	// Authoriser decides about calls; nil means AllowAll.
	Authoriser Authoriser
	// Stopping ends the streams of clients when it ends, before the server itself does; nil means never.
	Stopping context.Context //nolint:containedctx // it is the signal
	// InternalToken is the internal credential; empty means that no caller from the network is internal.
	InternalToken string
}

// Interceptors is the chain that every call passes: recover, telemetry, authenticate, authorise, validate, errors,
// handler. Authorisation reads the resources of a request before validation, so that a caller learns nothing about
// resources without permission; a malformed identifier is a resource that no policy names. It panics only if the
// validator or the instruments cannot be created, which no input causes.
func Interceptors(chain Chain) connect.HandlerOption {
	option, err := NewInterceptors(chain)
	if err != nil {
		panic(err)
	}
	return option
}

// NewInterceptors is Interceptors for callers that can report an error.
func NewInterceptors(chain Chain) (connect.HandlerOption, error) {
	telemetry, err := chain.telemetry()
	if err != nil {
		return nil, err
	}
	validation, err := newValidation()
	if err != nil {
		return nil, err
	}
	chain = chain.withDefaults()
	return connect.WithHandlerOptions(
		connect.WithInterceptors(requestLog(chain.Log)),
		connect.WithRecover(recovered),
		connect.WithInterceptors(
			telemetry,
			endStreams{chain.Stopping},
			authenticate(chain.Authenticator, chain.InternalToken),
			&authorisation{authoriser: chain.Authoriser},
			validation,
			mapErrors(),
		),
	), nil
}

func (c Chain) withDefaults() Chain {
	if c.Authenticator == nil {
		c.Authenticator = Anonymous{}
	}
	if c.Authoriser == nil {
		c.Authoriser = AllowAll{}
	}
	return c
}

func (c Chain) telemetry() (connect.Interceptor, error) {
	if c.Tracer == nil {
		c.Tracer = tracenoop.NewTracerProvider()
	}
	if c.Meter == nil {
		c.Meter = metricnoop.NewMeterProvider()
	}
	interceptor, err := otelconnect.NewInterceptor(
		otelconnect.WithTracerProvider(c.Tracer),
		otelconnect.WithMeterProvider(c.Meter),
		otelconnect.WithTrustRemote(), // a task's spans are children of its run's
	)
	if err != nil {
		return nil, fmt.Errorf("create rpc telemetry: %w", err)
	}
	return interceptor, nil
}
