package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

var (
	errGone      = rpc.NotFound("the app has been deleted")
	errUnknown   = rpc.NotFound("no app has this address; check its name, project and domain in the list of apps")
	errNotLoaded = rpc.Unavailable(nil, "the server has just started and is still loading the routes of apps; try again")
	errPrivate   = rpc.PermissionDenied("the app is private: only tasks and apps of the installation may call it")
	errForeign   = rpc.PermissionDenied("cross-origin request refused: the app requires a caller")
	errSignIn    = rpc.Unauthenticated("the app requires a caller; sign in")
	errStale     = rpc.Unauthenticated("this sign-in has expired, or was begun in another browser; open the app again")
	errAddress   = rpc.InvalidArgument("", "the request target must be a path")
)

// statusOf is the status of an error.
func statusOf(err error) int {
	switch rpc.KindOf(err) {
	case rpc.KindNotFound:
		return http.StatusNotFound
	case rpc.KindInvalidArgument:
		return http.StatusBadRequest
	case rpc.KindUnauthenticated:
		return http.StatusUnauthorized
	case rpc.KindPermissionDenied:
		return http.StatusForbidden
	case rpc.KindUnavailable, rpc.KindResourceExhausted, rpc.KindFailedPrecondition:
		return http.StatusServiceUnavailable
	case rpc.KindDeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusBadGateway
	}
}

// refuse answers a request that its app did not answer, in the form that the client reads.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	var known *rpc.Error
	if !errors.As(err, &known) {
		known = &rpc.Error{Kind: rpc.KindOf(err), Message: rpcMessage(err)}
	}
	header := w.Header()
	clear(header) // of an answer that was not sent
	header.Set("Cache-Control", "no-store")
	if isGRPC(r.Header) {
		if known.Kind == rpc.KindInternal { // it is not the server that failed
			known = &rpc.Error{Kind: rpc.KindUnavailable, Message: known.Message, Err: known.Err}
		}
		rpc.Refuse(w, r, known)
		return
	}
	status := statusOf(known)
	if status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "5")
	}
	content, text := "text/plain; charset=utf-8", known.Public()+"\n"
	switch accept := r.Header.Get("Accept"); {
	case strings.Contains(accept, "text/html"):
		content, text = "text/html; charset=utf-8", page(status, known.Public())
	case strings.Contains(accept, "json") || strings.Contains(r.Header.Get("Content-Type"), "json"):
		body, _ := json.Marshal(map[string]string{"code": known.Kind.Code().String(), "message": known.Public()}) // it has nothing that cannot be
		content, text = "application/json", string(body)
	}
	header.Set("Content-Type", content)
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may have gone
}

// rpcMessage is the text of an error that has a code and comes from one of our clients.
func rpcMessage(err error) string {
	var public interface{ Message() string }
	if errors.As(err, &public) {
		return public.Message()
	}
	return rpc.KindOf(err).String()
}

func page(status int, message string) string {
	refresh := ""
	if status == http.StatusServiceUnavailable {
		refresh = `<meta http-equiv="refresh" content="5">`
	}
	title := html.EscapeString(http.StatusText(status))
	return `<!doctype html><html lang="en"><meta charset="utf-8">` + refresh + `<title>` + title +
		`</title><body style="font-family:system-ui;max-width:40rem;margin:4rem auto;padding:0 1rem"><h1>` + title + `</h1><p>` +
		html.EscapeString(message) + `</p></body></html>`
}

// failure is the error for a request that its replica did not answer.
func failure(ctx context.Context, err error) error {
	var silent errTooSilent
	var ours *rpc.Error
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &silent):
		return rpc.DeadlineExceeded("%s", silent.Error())
	case errors.Is(cause, rpc.ErrShuttingDown), errors.Is(err, rpc.ErrShuttingDown):
		return rpc.Unavailable(err, "%s", rpc.ErrShuttingDown)
	case errors.As(err, &ours):
		return ours
	default:
		return &rpc.Error{Kind: rpc.KindInternal, Message: "the replica of the app broke the connection before it answered", Err: err}
	}
}
