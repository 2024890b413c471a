package main

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger/triggerconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// client is the client of a storm; it connects through the proxy.
type client struct {
	transport *http.Transport
	runs      workflowconnect.RunServiceClient
	actions   actionsconnect.ActionsServiceClient
	events    workflowconnect.EventsProxyServiceClient
	tasks     taskconnect.TaskServiceClient
	triggers  triggerconnect.TriggerServiceClient
	artifacts artifactconnect.ArtifactServiceClient
	slots     insightv1connect.TriggerInsightServiceClient
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
		tasks:     taskconnect.NewTaskServiceClient(over, s.URL()),
		triggers:  triggerconnect.NewTriggerServiceClient(over, s.URL()),
		artifacts: artifactconnect.NewArtifactServiceClient(over, s.URL()),
		slots:     insightv1connect.NewTriggerInsightServiceClient(over, s.URL()),
		events:    workflowconnect.NewEventsProxyServiceClient(over, s.URL(), rpc.WithInternalToken(stack.InternalToken)),
	}
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// insist retries a call until its answer is final.
func insist(ctx context.Context, call func(context.Context) error) error {
	retries := backoff.New(50*time.Millisecond, 500*time.Millisecond)
	for {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := call(once)
		cancel()
		if err == nil || final(err) {
			return err
		}
		if retries.Wait(ctx, clock.System{}) != nil {
			return err
		}
	}
}

// final reports whether a retry cannot help.
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
	return clock.Sleep(ctx, clock.System{}, d) == nil
}
