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

// Chain is what the interceptors need. The zero value works: no log, no telemetry, everybody anonymous and allowed,
// internal procedures only in the same process.
type Chain struct {
	// Log gets panics and failures.
	Log zerolog.Logger
	// Tracer and Meter get spans and metrics of each call; nil means none.
	Tracer trace.TracerProvider
	Meter  metric.MeterProvider
	// Authenticator says who calls; nil means Anonymous.
	Authenticator Authenticator
	// Authoriser says who may; nil means AllowAll.
	Authoriser Authoriser
	// Stopping ends the streams of clients when it ends, before the server itself does; nil means never.
	Stopping context.Context //nolint:containedctx // it is the signal
	// InternalToken is the internal credential; empty means that no caller from the network is internal.
	InternalToken string
}

// Interceptors is the chain that every call passes: recover, telemetry, authenticate, authorise, validate, errors,
// handler. It panics only when the validator or the instruments cannot be made, which no input causes.
func Interceptors(chain Chain) connect.Option {
	option, err := NewInterceptors(chain)
	if err != nil {
		panic(err)
	}
	return option
}

// NewInterceptors is Interceptors for callers that can report an error.
func NewInterceptors(chain Chain) (connect.Option, error) {
	telemetry, err := chain.telemetry()
	if err != nil {
		return nil, err
	}
	validation, err := newValidation()
	if err != nil {
		return nil, err
	}
	if chain.Authenticator == nil {
		chain.Authenticator = Anonymous{}
	}
	if chain.Authoriser == nil {
		chain.Authoriser = AllowAll{}
	}
	return connect.WithInterceptors(
		recoverPanics(chain.Log),
		telemetry,
		endStreams{chain.Stopping},
		authenticate(chain.Authenticator, chain.InternalToken),
		authorise(chain.Authoriser),
		validation,
		mapErrors(),
	), nil
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
		return nil, fmt.Errorf("make rpc telemetry: %w", err)
	}
	return interceptor, nil
}
