package connectors

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
)

const (
	// maxSaid is how much is kept of what a connector says in an error, in bytes.
	maxSaid = 4 << 10
	// maxLinkName and maxLinkURI bound a link of a job, in bytes.
	maxLinkName = 200
	maxLinkURI  = 2 << 10
)

// saidError is an error of a call, with what the connector said without the values of secrets.
type saidError struct {
	err  error
	text string
}

func (e *saidError) Error() string { return e.text }

func (e *saidError) Unwrap() error { return e.err }

// call bounds a call of the connector, and measures it. An error shows neither the values of the secrets that the connector was given nor tokens of tasks.
func call[Q, A any](
	ctx context.Context, w *worker, procedure string, do func(context.Context, *Q) (*A, error), request *Q, given *core.Connection,
) (*A, error) {
	bounded, cancel := context.WithTimeout(ctx, w.config.CallTimeout)
	defer cancel()
	began := w.deps.Clock.Now()
	answer, err := do(bounded, request)
	now := w.deps.Clock.Now()
	code := "ok"
	var told *connect.Error
	if errors.As(err, &told) {
		code = told.Code().String()
	}
	w.meters.called(ctx, w.remote.Name, procedure, code, now.Sub(began))
	switch {
	case w.remote.app != nil && connect.CodeOf(err) == connect.CodeUnavailable && ctx.Err() == nil:
		w.silence.notReached(now) // the gateway says so of an app without a replica
	case err == nil || connect.IsWireError(err) || tooLarge(err) || broken(err):
		w.silence.reached()
	case ctx.Err() == nil:
		w.silence.notReached(now)
	}
	if err != nil {
		return nil, &saidError{err, w.remote.hidden(given).Text(clip.Middle(redact.Tokens(said(err)), maxSaid))}
	}
	return answer, nil
}

// hidden are the values that what a connector says may repeat: those of the secrets that it was given, and the server's credential.
func (r *remote) hidden(given *core.Connection) *redact.Values {
	values := make(map[string][]byte, len(given.GetSecrets())+1)
	for key, value := range given.GetSecrets() {
		values[key] = []byte(value)
	}
	if r.Token != "" {
		values["of the connector"] = []byte(r.Token)
	}
	return redact.New(values)
}

// presentable is what is shown of a job: its message and its links, bounded, without the values of secrets and tokens of tasks. A link leads to a web page.
func (r *remote) presentable(resource *connectorv2.Resource, given *core.Connection) *connectorv2.Resource {
	hidden := r.hidden(given)
	shown := &connectorv2.Resource{Phase: resource.GetPhase(), Message: hidden.Text(clip.Middle(redact.Tokens(resource.GetMessage()), maxMessage))}
	for _, link := range resource.GetLogLinks() {
		at, err := url.Parse(link.GetUri())
		if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || len(link.GetUri()) > maxLinkURI {
			continue
		}
		if shown.LogLinks = append(shown.LogLinks, &core.TaskLog{
			Name:          hidden.Text(clip.Ellipsis(redact.Tokens(link.GetName()), maxLinkName)),
			Uri:           hidden.Text(clip.Head(redact.Tokens(link.GetUri()), maxLinkURI)),
			MessageFormat: link.GetMessageFormat(), Ttl: link.GetTtl(), ShowWhilePending: link.GetShowWhilePending(),
			HideOnceFinished: link.GetHideOnceFinished(), LinkType: link.GetLinkType(), Ready: link.GetReady(),
		}); len(shown.GetLogLinks()) == maxLinks {
			break
		}
	}
	return shown
}

// away reports whether an error says nothing about the job, only that the connector cannot be asked now: it is not reachable, does
// not accept the server's credential, is too busy, or does not serve the type, as one that is being replaced.
func away(err error) bool {
	var odd *phaseError
	if tooLarge(err) || broken(err) || gone(err) || errors.As(err, &odd) {
		return false
	}
	switch connect.CodeOf(err) { //nolint:exhaustive // all others are about the job
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnauthenticated, connect.CodePermissionDenied,
		connect.CodeResourceExhausted, connect.CodeNotFound, connect.CodeUnimplemented, connect.CodeAborted:
		return true
	}
	var told *connect.Error // anything else was not said by a connector
	return !errors.As(err, &told) || !connect.IsWireError(err)
}

// phaseError is an answer with a phase that the contract does not have.
type phaseError struct{ phase core.TaskExecution_Phase }

func (e *phaseError) Error() string {
	return fmt.Sprintf("it says that the job is in phase %d, which is unknown", e.phase)
}

// gone reports whether a connector says that there is no such job. The connector library also says not_found of types that it does not serve.
func gone(err error) bool {
	return connect.CodeOf(err) == connect.CodeNotFound && connect.IsWireError(err) && !strings.Contains(said(err), "annot find connector")
}

// tooLarge reports whether a message is larger than its receiver takes, on either side.
func tooLarge(err error) bool {
	text := said(err)
	return connect.CodeOf(err) == connect.CodeResourceExhausted &&
		(strings.Contains(text, "larger than max") || strings.Contains(text, "larger than configured max"))
}

// broken reports whether an answer came that cannot be decoded.
func broken(err error) bool {
	return connect.CodeOf(err) == connect.CodeInvalidArgument && !connect.IsWireError(err) && strings.Contains(said(err), "unmarshal message")
}

// said is what a connector says in an error.
func said(err error) string {
	var shown *saidError
	if errors.As(err, &shown) {
		return shown.text
	}
	var told *connect.Error
	if errors.As(err, &told) {
		return told.Message()
	}
	return clip.Middle(err.Error(), maxSaid)
}
