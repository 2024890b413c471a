package main

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger/triggerconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// client is a client of a storm; it connects through the proxy.
type client struct {
	transport *http.Transport
	http      *http.Client
	url       string
	guard     *guard // nil for a client whose answers are not searched

	runs      workflowconnect.RunServiceClient
	actions   actionsconnect.ActionsServiceClient
	events    workflowconnect.EventsProxyServiceClient
	tasks     taskconnect.TaskServiceClient
	triggers  triggerconnect.TriggerServiceClient
	artifacts artifactconnect.ArtifactServiceClient
	apps      appconnect.AppServiceClient
	slots     insightv1connect.TriggerInsightServiceClient
	usage     insightv1connect.InsightServiceClient
	projects  projectconnect.ProjectServiceClient
	access    accessv1connect.AccessServiceClient
	keys      accessv1connect.KeyServiceClient
	audit     accessv1connect.AuditServiceClient
}

// newClient returns a client of a server whose requests have a header that says who calls. A guard searches the answers.
func newClient(url, header, value string, search *guard) *client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols: protocols, DisableCompression: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: time.Second, PingTimeout: time.Second},
	}
	over := &http.Client{Transport: &credential{next: transport, header: header, value: value}}
	if search != nil {
		search.next, over.Transport = over.Transport, search
	}
	plain := connect.WithAcceptCompression("gzip", nil, nil) // so that answers can be searched
	return &client{
		transport: transport, http: over, url: url, guard: search,
		runs:      workflowconnect.NewRunServiceClient(over, url, plain),
		actions:   actionsconnect.NewActionsServiceClient(over, url, plain),
		tasks:     taskconnect.NewTaskServiceClient(over, url, plain),
		triggers:  triggerconnect.NewTriggerServiceClient(over, url, plain),
		artifacts: artifactconnect.NewArtifactServiceClient(over, url, plain),
		apps:      appconnect.NewAppServiceClient(over, url, plain),
		slots:     insightv1connect.NewTriggerInsightServiceClient(over, url, plain),
		usage:     insightv1connect.NewInsightServiceClient(over, url, plain),
		projects:  projectconnect.NewProjectServiceClient(over, url, plain),
		access:    accessv1connect.NewAccessServiceClient(over, url, plain),
		keys:      accessv1connect.NewKeyServiceClient(over, url, plain),
		audit:     accessv1connect.NewAuditServiceClient(over, url, plain),
		events:    workflowconnect.NewEventsProxyServiceClient(over, url, rpc.WithInternalToken(stack.InternalToken), plain),
	}
}

// credential is a transport that says who calls.
type credential struct {
	next          http.RoundTripper
	header, value string
}

func (c *credential) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set(c.header, c.value)
	return c.next.RoundTrip(request)
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
