package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"connectrpc.com/connect"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// session is what the tools of one request have: the API, called as the client of the request.
type session struct {
	ended <-chan struct{} // the client has gone
	url   string
	clock clock.Clock
	log   zerolog.Logger
	calls metric.Int64Counter

	projects  projectconnect.ProjectServiceClient
	runs      workflowconnect.RunServiceClient
	translate workflowconnect.TranslatorServiceClient
	data      dataproxyconnect.DataProxyServiceClient
	insight   insightv1connect.InsightServiceClient
	failures  insightv1connect.FailureServiceClient
	code      insightv1connect.CodeServiceClient
	artifacts insightv1connect.ArtifactInsightServiceClient
}

func newSession(s *Service, r *http.Request) *session {
	client := rpc.OnBehalf(s.deps.API, r)
	const url = rpc.InProcessURL
	return &session{
		ended: r.Context().Done(), url: s.deps.PublicURL, clock: s.deps.Clock, log: s.deps.Logger, calls: s.calls,
		projects: projectconnect.NewProjectServiceClient(client, url), runs: workflowconnect.NewRunServiceClient(client, url),
		translate: workflowconnect.NewTranslatorServiceClient(client, url), data: dataproxyconnect.NewDataProxyServiceClient(client, url),
		insight: insightv1connect.NewInsightServiceClient(client, url), failures: insightv1connect.NewFailureServiceClient(client, url),
		code: insightv1connect.NewCodeServiceClient(client, url), artifacts: insightv1connect.NewArtifactInsightServiceClient(client, url),
	}
}

// maxCall bounds a call of a tool. wait_for_run takes the longest.
const maxCall = 3 * time.Minute

// tool adds a tool to a server.
type tool func(*sdk.Server, *session)

// reads is a tool that changes nothing.
func reads[In, Out any](name, description string, run func(context.Context, *session, In) (Out, error)) tool {
	return define(&sdk.Tool{Name: name, Description: description, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, run)
}

// changes is a tool that changes something.
func changes[In, Out any](name, description string, run func(context.Context, *session, In) (Out, error)) tool {
	return define(&sdk.Tool{Name: name, Description: description, Annotations: &sdk.ToolAnnotations{}}, run)
}

func define[In, Out any](t *sdk.Tool, run func(context.Context, *session, In) (Out, error)) tool {
	return func(server *sdk.Server, s *session) {
		sdk.AddTool(server, t, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (result *sdk.CallToolResult, out Out, err error) {
			ctx, cancel := context.WithTimeout(ctx, maxCall)
			defer cancel()
			defer func() {
				if value := recover(); value != nil {
					s.log.Error().Str("tool", t.Name).Bytes("stack", debug.Stack()).Msgf("a tool panicked: %v", value)
					err = errInternal
				}
				s.count(ctx, t.Name, err)
			}()
			go func() { // older protocols do not end the context with the request
				select {
				case <-s.ended:
					cancel()
				case <-ctx.Done():
				}
			}()
			out, err = run(ctx, s, in)
			return nil, out, s.words(t.Name, err)
		})
	}
}

var errInternal = errors.New("internal error; the server's log has it")

// words is an error as the agent reads it. Those of the API are written for clients; all others are for the log.
func (s *session) words(tool string, err error) error {
	var refused *connect.Error
	var wrong *rpc.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return errors.New(wrong.Public())
	case errors.As(err, &refused):
		return fmt.Errorf("%s: %s", refused.Code(), refused.Message())
	default:
		s.log.Error().Str("tool", tool).Err(err).Msg("a tool failed")
		return errInternal
	}
}

func (s *session) count(ctx context.Context, tool string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	s.calls.Add(ctx, 1, metric.WithAttributes(attribute.String("tool", tool), attribute.String("result", result)))
}
