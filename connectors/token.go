package connectors

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Tokens issues the tokens of attempts; enginev1connect.TaskTokenServiceClient does.
type Tokens interface {
	IssueTaskToken(ctx context.Context, r *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error)
}

// token is the token of an attempt, for its job; empty if the connector gets none, or if callers need none.
func (w *worker) token(ctx context.Context, j *store.Job, assigned *enginev1.Assignment) (string, error) {
	if !w.remote.TaskTokens || w.deps.Tokens == nil {
		return "", nil
	}
	answer, err := w.deps.Tokens.IssueTaskToken(ctx, &enginev1.IssueTaskTokenRequest{Holder: &enginev1.IssueTaskTokenRequest_Attempt{
		Attempt: &enginev1.AttemptRef{Action: assigned.GetRef(), Attempt: uint32(j.Attempt)}, //nolint:gosec // from 1
	}})
	if err != nil {
		return "", fmt.Errorf("get the token of an attempt: %w", err)
	}
	return answer.GetToken(), nil
}

// addServer adds what a job needs to call the server, in the form that pods get it. A connector that gets no tokens does not learn
// where the server is either.
func (w *worker) addServer(env map[string]string, token string) {
	delete(env, attempts.TokenVariable) // of the author of the run
	if !w.remote.TaskTokens {
		return
	}
	// The author of the run must not lead the token elsewhere.
	delete(env, attempts.AppsVariable)
	delete(env, attempts.InsecureVariable)
	env[attempts.EndpointVariable] = w.deps.PublicURL
	if at, err := url.Parse(w.deps.PublicURL); err == nil && at.Scheme == "http" {
		env[attempts.InsecureVariable] = "true"
	}
	if token != "" {
		env[attempts.EndpointVariable], _ = attempts.WithToken(w.deps.PublicURL, "", false, token)
		env[attempts.TokenVariable] = token
	}
}

// reachable checks that jobs which get tokens present them over TLS, or on this machine.
func (c Config) reachable(publicURL string) error {
	at, err := url.Parse(publicURL)
	if err == nil && (at.Scheme == "https" || at.Scheme == "http" && isLocal(at.Hostname())) {
		return nil
	}
	var found invalid.Fields
	const why = "jobs present the tokens at access.publicURL, which must be https:// or lead to this machine, got %q"
	for i, e := range c.Endpoints {
		found.If(e.TaskTokens, "connectors.endpoints[%d].taskTokens: "+why, i, publicURL)
	}
	found.If(len(c.TaskTokenApps) > 0, "connectors.taskTokenApps: "+why, publicURL)
	return found.Err()
}

// isLocal reports whether a host is this machine, whatever the network.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
