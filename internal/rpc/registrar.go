package rpc

import (
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
)

// Registrar is what a service's Mount gets: it hands the result of a generated New…Handler to Handle, and Options to
// that constructor.
type Registrar interface {
	// Handle serves everything below path with h. Mounting a path twice panics.
	Handle(path string, h http.Handler)
	// Options are the options of every handler: the interceptor chain and the limits.
	Options() []connect.HandlerOption
}

// Mux is the Registrar: an http.ServeMux that remembers which services it has.
type Mux struct {
	mux     *http.ServeMux
	options []connect.HandlerOption
	paths   []string
}

var _ Registrar = (*Mux)(nil)

// NewMux makes an empty Mux whose handlers get options. Calls of procedures that nobody serves answer the Connect
// error unimplemented, in the protocol of the caller.
func NewMux(options ...connect.HandlerOption) *Mux {
	m := &Mux{mux: http.NewServeMux(), options: options}
	m.mux.Handle("/", unknownRoute{errors: connect.NewErrorWriter()})
	return m
}

// Handle implements Registrar.
func (m *Mux) Handle(path string, h http.Handler) {
	m.mux.Handle(path, h)
	m.paths = append(m.paths, path)
}

// Options implements Registrar.
func (m *Mux) Options() []connect.HandlerOption { return m.options }

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Has tells whether the service, such as flyteidl2.task.TaskService, is mounted.
func (m *Mux) Has(service string) bool { return slices.Contains(m.paths, "/"+service+"/") }

// Services lists the mounted services by full name, in order. Plain routes have no dot and are left out.
func (m *Mux) Services() []string {
	var services []string
	for _, path := range m.paths {
		name := strings.Trim(path, "/")
		if strings.Contains(name, ".") && !strings.Contains(name, "/") && path == "/"+name+"/" {
			services = append(services, name)
		}
	}
	slices.Sort(services)
	return services
}

// unknownRoute answers what no handler was mounted for.
type unknownRoute struct{ errors *connect.ErrorWriter }

func (u unknownRoute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Every GET could be a call by its form; those of browsers and probes are not.
	plain := r.Method != http.MethodPost && !r.URL.Query().Has("connect")
	if plain || !u.errors.IsSupported(r) {
		http.NotFound(w, r)
		return
	}
	// A failed write means that the client has gone.
	_ = u.errors.Write(w, r, toConnect(Unimplemented("%s is not served here", r.URL.Path)))
}
