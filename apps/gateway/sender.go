package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// idleTimeout is how long a connection to a replica is kept without a request. Servers close theirs after two seconds
// (gunicorn) or five (uvicorn, Node); a request that is sent in the same moment would be lost.
const idleTimeout = 1500 * time.Millisecond

// sender sends requests to replicas; it is the transport of the proxy. A replica that does not take the connection has seen
// nothing of the request, so it goes to the next one. A request of which something was sent is never sent again, apart from
// GET, HEAD, OPTIONS and TRACE without a body: on a connection that was in use before, and to another cluster.
type sender struct {
	plain, h2c *http.Transport
	wait       time.Duration
	timeout    time.Duration
	far        *distances
	meters     *meters
}

// connectionError is that a replica took no connection.
type connectionError struct{ error }

// Unwrap implements the interface of errors.
func (e connectionError) Unwrap() error { return e.error }

func newSender(config Config, dialer *net.Dialer, far *distances, figures *meters) *sender {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, connectionError{err}
		}
		return conn, nil
	}
	transport := func(h2c bool) *http.Transport {
		t := &http.Transport{
			Protocols: new(http.Protocols), DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 256,
			IdleConnTimeout: idleTimeout, ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 256 << 10,
		}
		t.Protocols.SetHTTP1(!h2c)
		t.Protocols.SetUnencryptedHTTP2(h2c)
		if h2c {
			t.IdleConnTimeout = time.Minute // the end of an HTTP/2 connection says which requests were not taken
			t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
		}
		return t
	}
	return &sender{plain: transport(false), h2c: transport(true), wait: config.WaitTimeout, timeout: config.RequestTimeout, far: far, meters: figures}
}

var _ http.RoundTripper = (*sender)(nil)

// RoundTrip implements http.RoundTripper.
func (s *sender) RoundTrip(out *http.Request) (*http.Response, error) {
	x := exchangeOf(out.Context())
	if x.limit = x.route.GetRequestTimeout().AsDuration(); x.limit <= 0 {
		x.limit = s.timeout
	}
	x.expired = func() { x.cancel(errTooSilent{x.limit}) }
	if out.Body != nil {
		x.kept = &body{source: out.Body, moved: x.touch, ended: x.passTrailers}
	}
	for tries := 1; ; tries++ {
		t, err := s.take(out.Context(), x)
		if err != nil {
			return nil, err
		}
		unsent := false
		attempt := out.WithContext(httptrace.WithClientTrace(out.Context(), s.trace(t.cluster, &unsent)))
		to := *out.URL
		to.Host = t.address
		attempt.URL = &to
		if out.Body != nil {
			attempt.GetBody = x.kept.open
			if attempt.Body, err = x.kept.open(); err != nil {
				x.app.release(t)
				return nil, err
			}
		}
		x.silence.start()
		response, err := s.transport(x, out).RoundTrip(attempt)
		if err == nil {
			x.target = t
			x.touch()
			return response, nil
		}
		x.silence.stop()
		switch {
		case out.Context().Err() != nil:
			x.app.release(t)
			return nil, err
		case errors.As(err, new(connectionError)):
			x.app.refused(t)
		case unsent:
			x.app.release(t)
		case repeatable(out) && tries < mostClusters && x.app.elsewhere(t):
			x.app.refused(t)
		default:
			x.app.release(t)
			return nil, err
		}
	}
}

// mostClusters bounds to how many clusters one request is sent.
const mostClusters = 3

// repeatable reports whether a request may be sent again, since it changes nothing and has no body.
func repeatable(out *http.Request) bool {
	switch out.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return out.Body == nil && out.Header.Get("Upgrade") == ""
	}
	return false
}

// trace measures how far a cluster is, and finds out whether a connection can carry a request.
func (s *sender) trace(cluster string, unsent *bool) *httptrace.ClientTrace {
	var began atomic.Int64 // the transport connects in a goroutine of its own
	return &httptrace.ClientTrace{
		ConnectStart: func(string, string) { began.Store(int64(uptime())) },
		ConnectDone: func(_, _ string, err error) {
			if now := uptime(); err == nil {
				s.far.connected(cluster, now-time.Duration(began.Load()), now)
			}
		},
		GotConn: func(got httptrace.GotConnInfo) {
			// A connection that was made before may be closed. Nothing is sent over it then.
			if *unsent = closed(got.Conn); *unsent {
				got.Conn.Close()
			}
		},
	}
}

// take takes a replica, and waits for one if there is none with room. The whole wait of a request has one limit. Its body is
// not read meanwhile, so its client is not the slow one.
func (s *sender) take(ctx context.Context, x *exchange) (*target, error) {
	if t := x.app.tryTake(); t != nil {
		return t, nil
	}
	left := s.wait - (uptime() - x.began)
	if left <= 0 {
		return nil, rpc.Unavailable(nil, "%s", x.app.tooLate(s.wait))
	}
	x.body.Pause()
	defer x.body.Resume()
	began := uptime()
	t, err := x.app.wait(ctx, left, s.wait)
	s.meters.waited(ctx, uptime()-began, err)
	return t, err
}

// transport chooses the protocol. A WebSocket begins with HTTP/1.1, also at servers that know HTTP/2.
func (s *sender) transport(x *exchange, out *http.Request) *http.Transport {
	if (x.route.GetH2C() || isGRPC(out.Header)) && out.Header.Get("Upgrade") == "" {
		return s.h2c
	}
	return s.plain
}

func (s *sender) close() {
	s.plain.CloseIdleConnections()
	s.h2c.CloseIdleConnections()
}

// errTooSilent is that nothing of a request has moved for too long.
type errTooSilent struct{ limit time.Duration } //nolint:errname // it is a cause, not a type that callers look for

// Error implements error.
func (e errTooSilent) Error() string {
	return "the app has not answered within " + e.limit.String() + ", its request_timeout"
}
