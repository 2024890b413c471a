package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Path serves the tools that read; ChangesPath also those that change something. The person who connects an agent grants it
// changes by choosing the second.
const (
	Path        = "/mcp"
	ChangesPath = "/mcp/changes"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 1 << 20

// Deps are the dependencies of the service.
type Deps struct {
	// API serves the procedures that the tools call.
	API http.Handler
	// PublicURL is where people reach the console; empty if unknown, and then answers have no links.
	PublicURL string
	// Authorization says where an agent gets a token; nil where callers do not sign in.
	Authorization *Authorization
	// Version is that of the server.
	Version string
	Clock   clock.Clock
	Logger  zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service serves the Model Context Protocol.
type Service struct {
	config  Config
	deps    Deps
	schemas *sdk.SchemaCache
	calls   metric.Int64Counter
}

// New makes the service.
func New(config Config, deps Deps) (*Service, error) {
	if deps.API == nil {
		return nil, errors.New("mcp: the API is required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	calls, err := deps.Meter.Meter("github.com/flyte-binary/flyte-binary/mcp").Int64Counter("flyte.mcp.calls",
		metric.WithDescription("calls of tools by agents"))
	if err != nil {
		return nil, fmt.Errorf("make metric flyte.mcp.calls: %w", err)
	}
	deps.PublicURL = strings.TrimSuffix(deps.PublicURL, "/")
	return &Service{config: config, deps: deps, schemas: sdk.NewSchemaCache(), calls: calls}, nil
}

// Mount mounts the addresses that the configuration has.
func (s *Service) Mount(registrar rpc.Registrar) {
	if !s.config.Enabled {
		return
	}
	s.mount(registrar, Path, false)
	if s.config.Changes {
		s.mount(registrar, ChangesPath, true)
	}
}

// mount mounts one address and, where callers sign in, what agents have to know for that.
func (s *Service) mount(registrar rpc.Registrar, path string, changes bool) {
	handler := s.handler(changes)
	if s.deps.Authorization == nil {
		registrar.Handle(path, handler)
		return
	}
	one := resource{handler, path, s.deps.Authorization}
	registrar.Handle(path, one)
	registrar.Handle("GET "+MetadataPath+path, http.HandlerFunc(one.describe))
}

type sessionKey struct{}

// handler serves each request on its own: no session of the protocol outlives it, so every replica can answer every request.
func (s *Service) handler(changes bool) http.Handler {
	protocol := sdk.NewStreamableHTTPHandler(
		func(r *http.Request) *sdk.Server {
			server, _ := r.Context().Value(sessionKey{}).(*sdk.Server)
			return server
		},
		&sdk.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxRequest, PropagateRequestCancellation: true,
			DisableLocalhostProtection: true, // the port has its own, which knows server.allowedHosts
		})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server := s.server(newSession(s, r), changes)
		protocol.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, server)))
	})
}

// server is what one request talks to.
func (s *Service) server(one *session, changes bool) *sdk.Server {
	instructions := readInstructions
	if changes {
		instructions += " " + changeInstructions
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "flyte-binary", Title: "Flyte", Version: s.deps.Version},
		&sdk.ServerOptions{
			Instructions: instructions, SchemaCache: s.schemas, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		})
	for _, t := range readTools {
		t(server, one)
	}
	if changes {
		for _, t := range changeTools {
			t(server, one)
		}
	}
	return server
}

const (
	readInstructions = "Flyte runs pipelines. A run is one execution of a task; its actions are the task itself (a0) and every task that it " +
		"calls. Names of runs belong to a project and a domain: find them with list_projects, list_runs or search. To learn why a run " +
		"failed, call explain_failure; to learn why it waits, explain_wait."
	changeInstructions = "Some tools start, stop or answer something. Ask the person before you use one of them."
)
