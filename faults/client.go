package main

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/faults/stack"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// client is the user of a storm, on the far side of the proxy.
type client struct {
	transport *http.Transport
	runs      workflowconnect.RunServiceClient
	actions   actionsconnect.ActionsServiceClient
	events    workflowconnect.EventsProxyServiceClient
}

func newClient(s *stack.Stack) *client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols: protocols, DisableCompression: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: time.Second, PingTimeout: time.Second},
	}
	over := &http.Client{Transport: transport}
	return &client{
		transport: transport,
		runs:      workflowconnect.NewRunServiceClient(over, s.URL()),
		actions:   actionsconnect.NewActionsServiceClient(over, s.URL()),
		events:    workflowconnect.NewEventsProxyServiceClient(over, s.URL(), rpc.WithInternalToken(stack.InternalToken)),
	}
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// insist calls until there is an answer that will not change.
func insist(ctx context.Context, call func(context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := call(once)
		cancel()
		if err == nil || final(err) {
			return err
		}
		if !sleep(ctx, pause) {
			return err
		}
	}
}

// final says that asking again will not help.
func final(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeAlreadyExists, connect.CodeFailedPrecondition,
		connect.CodePermissionDenied, connect.CodeUnauthenticated, connect.CodeUnimplemented:
		return true
	default:
		return false
	}
}

// sleep waits; false means that the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
