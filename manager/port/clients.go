package port

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// clients bounds what one address has of the port at once: connections, and requests in flight.
type clients struct {
	log         zerolog.Logger
	lines       *loglimit.Limit
	refused     metric.Int64Counter
	connections perClient
	requests    perClient
}

// NewClients returns the bounds of the configuration. lines limits how often refusals are logged.
func NewClients(config configuration.ServerConfig, log zerolog.Logger, lines *loglimit.Limit, provider metric.MeterProvider) (*clients, error) {
	const name = "flyte.port.refused"
	refused, err := provider.Meter("github.com/flyte-binary/flyte-binary/manager").Int64Counter(name,
		metric.WithDescription("connections and requests that were refused because their client had too many"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return &clients{
		log: log, lines: lines, refused: refused,
		connections: perClient{limit: config.ConnectionsPerClient}, requests: perClient{limit: config.RequestsPerClient},
	}, nil
}

// connection is http.Server.ConnState: it closes connections that are too many.
func (c *clients) connection(conn net.Conn, state http.ConnState) {
	client := host(conn.RemoteAddr().String())
	switch state {
	case http.StateNew:
		if !c.connections.enter(client) {
			c.refuse(context.Background(), "connection", "server.connectionsPerClient", client)
			conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		c.connections.leave(client)
	default:
	}
}

// guard refuses requests that are too many.
func (c *clients) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := host(r.RemoteAddr)
		defer c.requests.leave(client)
		if !c.requests.enter(client) {
			c.refuse(r.Context(), "request", "server.requestsPerClient", client)
			rpc.Refuse(w, r, rpc.ResourceExhausted("too many requests: %s has more than %d requests and streams in flight, which is the limit "+
				"(server.requestsPerClient); end some, or raise it for a proxy", client, c.requests.limit))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (c *clients) refuse(ctx context.Context, what, key, client string) {
	c.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("what", what)))
	if suppressed, ok := c.lines.Allow(what); ok {
		c.log.Warn().Str("client", client).Str("limit", key).Int("suppressed", suppressed).Msg(what + " refused: the client has too many")
	}
}

// host is the address without the port.
func host(address string) string {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return name
}

// perClient counts what each client has.
type perClient struct {
	limit int
	mu    sync.Mutex
	has   map[string]int // GUARDED_BY(mu): without those that have nothing
}

// enter counts one more and reports whether it is within the limit. Each call needs one of leave.
func (p *perClient) enter(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.has == nil {
		p.has = map[string]int{}
	}
	p.has[client]++
	return p.has[client] <= p.limit
}

func (p *perClient) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.has[client]--; p.has[client] == 0 {
		delete(p.has, client)
	}
}
