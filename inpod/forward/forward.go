// Package forward passes TCP connections on within a pod. It exists because programs that the SDK serves listen on 127.0.0.1:
// nothing outside of their pod can reach them, neither the gateway nor a probe of the kubelet. It knows nothing of HTTP, so
// that every protocol passes. It builds on no other package of this repository.
package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// dialLimit bounds the connection to a program in the same pod.
	dialLimit = 2 * time.Second
	// readyLimit bounds one answer about readiness.
	readyLimit = 5 * time.Second
	// lookInterval is how often the forwarder looks whether the program listens, while it does not: a request may wait.
	lookInterval = 20 * time.Millisecond
)

// Forwarder passes connections on to one address.
type Forwarder struct {
	// To is the address of the program.
	To string
}

// errRefused means that the program no longer listens.
var errRefused = errors.New("the program accepts no connections")

// Run listens on both addresses until ctx ends, on the first one only while the program listens: a connection that is refused
// tells its client that nothing was sent, so that gateways wait or take another replica. Connections in flight continue for as
// long as the process lives.
func (f Forwarder) Run(ctx context.Context, listen, ready string) error {
	var config net.ListenConfig
	probes, err := config.Listen(ctx, "tcp", ready)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: f.Ready(), ReadHeaderTimeout: readyLimit, WriteTimeout: readyLimit}
	defer func() { _ = server.Close() }()
	go func() { _ = server.Serve(probes) }()
	for f.listens(ctx) {
		traffic, err := config.Listen(ctx, "tcp", listen)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil
		case err != nil:
			return err
		}
		if err := f.serve(ctx, traffic); !errors.Is(err, errRefused) {
			return err
		}
	}
	return nil
}

// listens waits until the program listens, and returns false when ctx ends first.
func (f Forwarder) listens(ctx context.Context) bool {
	for {
		conn, err := f.dial(ctx)
		if err == nil {
			_ = conn.Close()
			return true
		}
		select {
		case <-time.After(lookInterval):
		case <-ctx.Done():
			return false
		}
	}
}

func (f Forwarder) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return (&net.Dialer{}).DialContext(ctx, "tcp", f.To)
}

// serve passes on the connections of a listener until ctx ends, or until the program refuses one; then the listener is closed.
func (f Forwarder) serve(ctx context.Context, listener net.Listener) error {
	defer listener.Close()
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(serving, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case serving.Err() != nil:
			return context.Cause(serving)
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			continue // too many open files, or a client that has gone
		}
		go f.pass(context.WithoutCancel(ctx), conn, func() { stop(errRefused) })
	}
}

// pass copies in both directions. The end of one direction is passed on and leaves the other open, as some protocols need.
func (f Forwarder) pass(ctx context.Context, client net.Conn, refused func()) {
	defer client.Close()
	program, err := f.dial(ctx)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			refused()
		}
		return // the client sees a connection that ends at once
	}
	defer program.Close()
	var both sync.WaitGroup
	both.Go(func() { half(program, client) })
	both.Go(func() { half(client, program) })
	both.Wait()
}

func half(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if end, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = end.CloseWrite()
		return
	}
	// A broken direction breaks the other: no one would read the answer.
	_ = to.Close()
	_ = from.Close()
}

// Ready answers at /ready whether the program accepts connections.
func (f Forwarder) Ready() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		conn, err := f.dial(r.Context())
		if err != nil {
			http.Error(w, "nothing accepts connections on "+f.To, http.StatusServiceUnavailable)
			return
		}
		_ = conn.Close()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
