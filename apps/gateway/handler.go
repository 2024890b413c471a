package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/slowbody"
)

// Door says who makes a request and whether they may; rpc.Door is one.
type Door interface {
	// Enter returns a context with the caller. What is open takes everybody.
	Enter(r *http.Request, about authz.Resource, open bool) (context.Context, error)
	// EnterAs is Enter for a caller who is known.
	EnterAs(r *http.Request, caller authz.Identity, about authz.Resource) (context.Context, error)
}

// handler takes requests to apps.
type handler struct {
	config   Config
	networks networks
	own      Hosts
	next     http.Handler
	routes   *routes
	book     *book
	door     Door
	visitors visitors
	// assertions tell apps who calls; nil where nothing signs them.
	assertions Assertions
	// hidden are further headers that no app gets, in the form of envName.
	hidden map[string]bool
	// open means that the installation knows no callers, so that no app can require one.
	open     bool
	warn     *sync.Once
	stopping context.Context //nolint:containedctx // it is a signal
	proxy    *httputil.ReverseProxy
	meters   *meters
	log      zerolog.Logger
	lines    *loglimit.Limit
}

// ServeHTTP implements http.Handler: it serves the requests of apps, and passes all others on.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	routes := h.routes.table.Load()
	found, ours := find(r, routes, h.config.Domain, h.own)
	if !ours {
		h.next.ServeHTTP(w, r)
		return
	}
	switch {
	case found.app == nil && routes == nil:
		refuse(w, r, errNotLoaded)
		return
	case found.app == nil:
		h.missing(w, r, found)
		return
	}
	x := &exchange{place: found, host: r.Host, route: found.app.route.Load(), client: h.networks.of(r), began: uptime()}
	if h.visitors.enters(r, x) {
		h.visitors.enter(w, r, x)
		return
	}
	ctx, err := h.admit(r, x)
	if err != nil {
		if !h.visitors.leads(w, r, x, err) {
			refuse(w, r, x.unnamed(err))
		}
		return
	}
	if to := h.elsewhere(r, x); to != "" {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		return
	}
	h.forward(ctx, w, r, x)
}

// admit returns the context of a request that its app takes.
func (h *handler) admit(r *http.Request, x *exchange) (context.Context, error) {
	if r.Method == http.MethodConnect || (x.path != "" && x.path[0] != '/') {
		return nil, errAddress
	}
	to, err := x.place.target(r.URL)
	if err != nil {
		return nil, errAddress
	}
	x.to = to
	id, anyone := x.route.GetId(), x.route.GetAllowAnonymous()
	if !anyone && foreign(r) {
		return nil, errForeign
	}
	about := authz.Resource{Kind: "app", Org: id.GetOrg(), Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName()}
	ctx, err := h.enter(r, x, about, anyone)
	if err != nil {
		return nil, err
	}
	known := authz.IdentityFrom(ctx)
	caller := known.Kind
	if x.route.GetPrivate() && !x.client.internal && caller != authz.Task && caller != authz.Service {
		return nil, errPrivate
	}
	if !anyone && caller == authz.Anonymous {
		if !h.open {
			return nil, errSignIn
		}
		h.warn.Do(func() {
			h.log.Warn().Str("app", pathKey(x.route)).
				Msg("apps that require a caller are open to everyone who reaches the port, since the API has no authentication")
		})
	}
	if caller != authz.Anonymous && h.assertions != nil {
		x.assertion, err = h.assertions.Assert(ctx, known, pathKey(x.route))
	}
	return ctx, err
}

// enter returns the context of a request with its caller: who has signed in at the host of the app, else whom the door knows.
func (h *handler) enter(r *http.Request, x *exchange, about authz.Resource, anyone bool) (context.Context, error) {
	if !anyone {
		visitor, err := h.visitors.of(r, x)
		if err != nil {
			return nil, err
		}
		if visitor.Kind != authz.Anonymous {
			return h.door.EnterAs(r, visitor, about)
		}
	}
	return h.door.Enter(r, about, anyone)
}

// foreign reports whether a page of another origin makes a request that may change something. A WebSocket counts: browsers
// let every page open one to everywhere.
func foreign(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		if r.Header.Get("Upgrade") == "" {
			return false
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false // not a browser
	}
	from, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(from.Host, r.Host)
}

// elsewhere returns where a browser should go instead to show a page: to the host of the app, whose pages share nothing with
// the console; else to the path with a final slash, to which relative links refer. It is empty for programs.
func (h *handler) elsewhere(r *http.Request, x *exchange) string {
	if x.prefix == "" || !showsPage(r) {
		return ""
	}
	to := url.URL{Path: "/", RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}
	if x.path != "" {
		to.Path, to.RawPath = pathOf(x.path), x.path
	}
	if label := x.route.GetSubdomain(); label != "" && h.config.Domain != "" && resolves(h.config.Domain, r.Host) {
		to.Scheme, to.Host = x.client.scheme, label+"."+h.config.Domain
		if _, port, err := net.SplitHostPort(r.Host); err == nil {
			to.Host = net.JoinHostPort(to.Host, port)
		}
		return to.String()
	}
	if x.path == "" {
		to.Path = x.prefix + "/"
		return to.String()
	}
	return ""
}

func pathOf(escaped string) string {
	path, _ := url.PathUnescape(escaped) // checked before
	return path
}

// showsPage reports whether a browser asks for a page to show.
func showsPage(r *http.Request) bool {
	if (r.Method != http.MethodGet && r.Method != http.MethodHead) || r.Header.Get("Upgrade") != "" {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// resolves reports whether a browser that knows the server as host finds names below the domain. Those below localhost are
// for browsers on this machine.
func resolves(domain, host string) bool {
	if domain != "localhost" {
		return true
	}
	switch hostname(host) {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

// forward hands a request to a replica and its answer to the client. The context is the one with which the request was
// admitted.
func (h *handler) forward(ctx context.Context, w http.ResponseWriter, r *http.Request, x *exchange) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, exchangeKey{}, x))
	x.cancel, x.body = cancel, measured(r)
	out := &answer{ResponseWriter: w, x: x, stall: h.config.StallTimeout}
	h.book.enter(x.app)
	h.meters.enter(x.app)
	defer func() {
		x.silence.stop()
		if x.stopAfter != nil {
			x.stopAfter()
		}
		cancel(nil)
		if x.target != nil {
			x.app.release(x.target)
		}
		out.end()
		ended := resultOf(out.status, r.Context().Err() != nil)
		h.meters.leave(x.app, ended)
		x.app.load.leave(ended)
	}()
	x.out = out
	h.proxy.ServeHTTP(out, r.WithContext(ctx))
	if x.duplex && !x.kept.whole() && !drain(r.Body) {
		panic(http.ErrAbortHandler) // the answer is complete, but the connection cannot carry another request
	}
}

// lingering is how many bytes of a body are read after its answer, for clients that send everything before they read.
const lingering = 8 << 20

// drain reads the rest of a body and reports whether that was all.
func drain(body io.Reader) bool {
	n, err := io.CopyN(io.Discard, body, lingering)
	return n < lingering && errors.Is(err, io.EOF)
}

// arrived sees the header of an answer.
func (h *handler) arrived(response *http.Response) error {
	x := exchangeOf(response.Request.Context())
	x.localise(response.Header, response.Request.URL.Host)
	if x.prefix != "" && h.config.Pages == pagesSandbox {
		response.Header.Add("Content-Security-Policy", sandbox)
	}
	if response.StatusCode != http.StatusSwitchingProtocols && response.Request.ProtoMajor == 1 && !x.kept.whole() {
		// The app answers while its request is still on its way; the server would discard the rest of it.
		x.duplex = http.NewResponseController(x.out.ResponseWriter).EnableFullDuplex() == nil
	}
	if flows(response) {
		x.silence.stop()
		// Ordinary requests end by themselves when the process stops, within its grace.
		x.stopAfter = context.AfterFunc(h.stopping, func() { x.cancel(rpc.ErrShuttingDown) })
	}
	return nil
}

// failed answers a request that got no answer.
func (h *handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	if errors.Is(err, slowbody.ErrTooSlow) {
		refuse(w, r, rpc.InvalidArgument("", "timed out while reading the request body"))
		return
	}
	if cause := context.Cause(r.Context()); errors.Is(cause, context.Canceled) {
		panic(http.ErrAbortHandler) // the client has gone
	}
	told := failure(r.Context(), err)
	if suppressed, ok := h.lines.Allow(x.app.uid); ok {
		event := h.log.Info().Err(told).Str("app", pathKey(x.route)).Int("suppressed", suppressed)
		if x.target != nil {
			event = event.Str("replica", x.target.replica)
		}
		event.Msg("app did not respond")
	}
	refuse(w, r, told)
}
