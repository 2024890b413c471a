package port

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"time"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/slowbody"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/stacks"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// maxStreams is how many calls one HTTP/2 connection may carry at once. A parent with a thousand children in flight
// and its watches must fit; the library's 250 would make the rest wait.
const maxStreams = 10_000

// CompressFrom is the size in bytes from which responses are compressed. Most are far smaller; compressing them costs
// more than the rest of the response, and saves nothing.
const CompressFrom = 1 << 10

// MaxHeader is the size of the largest header of a request, in bytes. That of a call has some hundred; proxies add to it.
const MaxHeader = 64 << 10

// Port is the listener and its handlers: Connect, gRPC, gRPC-Web and JSON over HTTP/1.1 and unencrypted
// HTTP/2. There is no timeout for a whole response, since streams are long-lived.
type Port struct {
	Listener net.Listener
	server   *http.Server
	// beginStop ends the streams; cut ends every request.
	beginStop context.CancelFunc
	cut       context.CancelCauseFunc
	Failed    chan error // receives the error when serving fails
	served    chan struct{}
}

var _ lifecycle.Part = (*Port)(nil)

// Listen binds the port, so that a port in use is known before anything starts.
func Listen(config configuration.ServerConfig, given net.Listener) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	listener, err := net.Listen("tcp", config.Listen) //nolint:noctx // binding does not wait
	if err != nil {
		return nil, diagnose.Port("server.listen", config.Listen, err)
	}
	return listener, nil
}

// onGrownStack serves each request on a stack that has grown.
func onGrownStack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stacks.Grow()
		next.ServeHTTP(w, r)
	})
}

// NewPort returns a port that serves a handler on a listener. Clients that present a certificate must have it from one of the
// authorities. beginStop is called when it stops, and has the streams end. It fails when the certificate of server.tls cannot be read.
func NewPort(
	config configuration.ServerConfig, listener net.Listener, handler http.Handler, clients *clients, authorities []*certfiles.Authorities,
	beginStop context.CancelFunc, clk clock.Clock, log zerolog.Logger,
) (*Port, error) {
	listener, settings, err := withTLS(config, listener, authorities, clk, log)
	if err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	base, cut := context.WithCancelCause(log.WithContext(context.Background()))
	return &Port{
		Listener:  listener,
		beginStop: beginStop,
		cut:       cut,
		Failed:    make(chan error, 1),
		server: &http.Server{
			Handler:   onGrownStack(clients.guard(slowbody.Guard(config.BodyTimeout, handler))),
			ConnState: clients.connection,
			ErrorLog:  stdlog.New(serverLog{log, clients.lines}, "", 0),
			Protocols: protocols,
			TLSConfig: settings,
			// Without pings, a peer that vanished would hold its streams forever.
			HTTP2: &http.HTTP2Config{
				MaxConcurrentStreams: maxStreams,
				SendPingTimeout:      config.PingAfter, PingTimeout: config.PingTimeout, WriteByteTimeout: config.WriteTimeout,
			},
			MaxHeaderBytes:    MaxHeader,
			ReadHeaderTimeout: config.HeaderTimeout,
			IdleTimeout:       5 * time.Minute,
			BaseContext:       func(net.Listener) context.Context { return base },
		},
	}, nil
}

// serverLog takes the lines of net/http, which clients can cause.
type serverLog struct {
	log   zerolog.Logger
	lines *loglimit.Limit
}

// Write implements io.Writer.
func (s serverLog) Write(line []byte) (int, error) {
	if suppressed, ok := s.lines.Allow("http"); ok {
		s.log.Warn().Int("suppressed", suppressed).Msg(strings.TrimSpace(string(line)))
	}
	return len(line), nil
}

// Guard refuses what foreign web pages send, and sets the CORS policy: only the given origins are allowed, without
// credentials such as cookies, which the API does not use.
func Guard(origins []string, hosts browserguard.Hosts, next http.Handler) http.Handler {
	options := cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: append(connectcors.AllowedMethods(), http.MethodPut, http.MethodHead),
		AllowedHeaders: append(connectcors.AllowedHeaders(), "Authorization", requestID, "Content-Md5", "Content-Encoding"),
		ExposedHeaders: append(connectcors.ExposedHeaders(), "Etag", "Content-Range", requestID),
		MaxAge:         int((2 * time.Hour).Seconds()),
	}
	if len(origins) == 0 {
		options.AllowOriginFunc = func(string) bool { return false } // The library takes an empty list for all origins.
	}
	policy := cors.New(options)
	return browserguard.Guard(hosts, policy.OriginAllowed, policy.Handler(next))
}

// Start implements lifecycle.Part.
func (p *Port) Start(context.Context) error {
	p.served = make(chan struct{})
	go func() {
		defer close(p.served)
		if err := p.server.Serve(p.Listener); !errors.Is(err, http.ErrServerClosed) {
			p.Failed <- fmt.Errorf("the port failed: %w", err)
		}
	}()
	return nil
}

// Stop implements lifecycle.Part: no new requests are accepted, streams end, unary calls finish. Requests in flight
// when the context ends are cut.
func (p *Port) Stop(ctx context.Context) error {
	if p.served == nil {
		return nil
	}
	p.beginStop()
	err := p.server.Shutdown(ctx)
	p.cut(rpc.ErrShuttingDown)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were cut: %w", err), p.server.Close())
	}
	<-p.served
	return err
}
