package rpc

import (
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Registrar is what a service's Mount gets: it hands the result of a generated New…Handler to Handle, and Options to
// that constructor.
type Registrar interface {
	// Handle serves everything below path with h. It panics for a path that is mounted already, and for a plain route or a
	// service without a rule.
	Handle(path string, h http.Handler)
	// Options are the options of every handler: the interceptor chain and the limits.
	Options() []connect.HandlerOption
}

// Mux is the Registrar: an http.ServeMux that remembers which services it has.
type Mux struct {
	mux     *http.ServeMux
	options []connect.HandlerOption
	links   *links // nil when nothing is guarded
	paths   []string
}

var _ Registrar = (*Mux)(nil)

// NewGuardedMux makes an empty Mux of which every call and every plain route passes the chain. options come on top of the
// chain's.
func NewGuardedMux(chain Chain, options ...connect.HandlerOption) (*Mux, error) {
	made, err := chain.make()
	if err != nil {
		return nil, err
	}
	m := NewMux(append([]connect.HandlerOption{made.options}, options...)...)
	m.links = made
	return m, nil
}

// NewMux makes an empty Mux whose handlers get options and whose plain routes are open, for tests of services. Calls of
// procedures that no one serves answer the Connect error unimplemented, in the protocol of the caller.
func NewMux(options ...connect.HandlerOption) *Mux {
	m := &Mux{mux: http.NewServeMux(), options: options}
	m.mux.HandleFunc("/", unknownRoute)
	return m
}

// Handle implements Registrar.
func (m *Mux) Handle(path string, h http.Handler) {
	if m.links != nil {
		h = m.guarded(path, h)
	}
	m.mux.Handle(path, h)
	m.paths = append(m.paths, path)
}

// guarded puts services behind the intake, and plain routes behind their rule. The handlers of services have the rest of
// the chain as options.
func (m *Mux) guarded(path string, h http.Handler) http.Handler {
	if service, is := serviceOf(path); is {
		if !authz.HasService(service) && !reflected[path] {
			panic("rpc: service " + service + " has no rules; add it to the table of procedures")
		}
		h = m.links.intake.before(service, h)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, arrival(r)) })
	}
	rule, ok := authz.RouteRuleOf(path)
	if !ok {
		panic("rpc: route " + path + " has no rule; add it to the table of routes")
	}
	plain := &plain{gate: m.links.gate, authorise: m.links.authorise}
	return plain.guard(path, rule, h)
}

// serviceOf is the service that is mounted at a path such as /flyteidl2.task.TaskService/.
func serviceOf(path string) (string, bool) {
	name := strings.Trim(path, "/")
	return name, strings.Contains(name, ".") && !strings.Contains(name, "/") && path == "/"+name+"/"
}

// Trust asks an authenticator of a service's own tokens before those that were there. The service calls it before the mux
// serves requests.
func (m *Mux) Trust(tokens authz.Authenticator) {
	m.links.gate.authenticator = authz.InTurn(tokens, m.links.gate.authenticator)
}

// Decide replaces the authoriser. The service that decides calls it before the mux serves requests.
func (m *Mux) Decide(policy authz.Authoriser) { m.links.authorise.Authoriser = policy }

// Limit replaces the limiter. The service that limits callers calls it before the mux serves requests.
func (m *Mux) Limit(limits authz.Limiter) { m.links.limiter.Limiter = limits }

// Record replaces the auditor. The service that keeps what was done calls it before the mux serves requests.
func (m *Mux) Record(auditor authz.Auditor) {
	m.links.gate.audit, m.links.authorise.audit = audit{auditor}, audit{auditor}
}

// Routes lists the patterns of the plain routes, in order.
func (m *Mux) Routes() []string {
	var patterns []string
	for _, path := range m.paths {
		if _, is := serviceOf(path); !is {
			patterns = append(patterns, path)
		}
	}
	slices.Sort(patterns)
	return patterns
}

// Options implements Registrar.
func (m *Mux) Options() []connect.HandlerOption { return m.options }

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Has reports whether the service, such as flyteidl2.task.TaskService, is mounted.
func (m *Mux) Has(service string) bool { return slices.Contains(m.paths, "/"+service+"/") }

// Services lists the mounted services by full name, in order.
func (m *Mux) Services() []string {
	var services []string
	for _, path := range m.paths {
		if name, is := serviceOf(path); is {
			services = append(services, name)
		}
	}
	slices.Sort(services)
	return services
}

// unknownRoute answers what no handler was mounted for.
func unknownRoute(w http.ResponseWriter, r *http.Request) {
	if !isCall(r) {
		http.NotFound(w, r)
		return
	}
	Refuse(w, r, Unimplemented("%s is not served here", r.URL.Path))
}
