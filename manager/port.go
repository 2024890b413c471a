package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
	"github.com/rs/zerolog"
)

// maxStreams is how many calls one HTTP/2 connection may carry at once. A parent with a thousand children in flight
// and its watches must fit; the library's 250 would make the rest wait.
const maxStreams = 10_000

// port is the listener with everything behind it.
type port struct {
	listener net.Listener
	server   *http.Server
	log      zerolog.Logger
	cancel   context.CancelFunc
}

func newPort(config ServerConfig, listener net.Listener, handler http.Handler, log zerolog.Logger) (*port, error) {
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", config.Listen); err != nil { //nolint:noctx // binding does not wait
			return nil, fmt.Errorf("server.listen: %w", err)
		}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	// Streams end with unavailable, not with a cut connection, when the process stops.
	base, cancel := context.WithCancel(context.Background())
	return &port{
		listener: listener,
		log:      log,
		cancel:   cancel,
		server: &http.Server{
			Handler:           allowOrigins(config.AllowedOrigins, handler),
			Protocols:         protocols,
			HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       5 * time.Minute,
			BaseContext:       func(net.Listener) context.Context { return base },
		},
	}, nil
}

// allowOrigins answers browsers of the given origins, and of no others.
func allowOrigins(origins []string, next http.Handler) http.Handler {
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: append(connectcors.AllowedMethods(), http.MethodPut, http.MethodHead),
		AllowedHeaders: append(connectcors.AllowedHeaders(), "Authorization", "X-Request-Id", "Content-Md5"),
		ExposedHeaders: connectcors.ExposedHeaders(),
		MaxAge:         int((2 * time.Hour).Seconds()),
	}).Handler(next)
}

func (p *port) addr() string { return p.listener.Addr().String() }

// Start implements lifecycle.Part.
func (p *port) Start(context.Context) error {
	go func() {
		if err := p.server.Serve(p.listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			p.log.Error().Err(err).Msg("the port failed")
		}
	}()
	return nil
}

// Stop implements lifecycle.Part: unary calls finish, streams are told to end.
func (p *port) Stop(ctx context.Context) error {
	p.server.SetKeepAlivesEnabled(false)
	p.cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		return errors.Join(err, p.server.Close())
	}
	return nil
}
