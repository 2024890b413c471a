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
	"time"
)

const (
	// dialLimit bounds the connection to a program in the same pod.
	dialLimit = 2 * time.Second
	// readyLimit bounds one answer about readiness.
	readyLimit = 5 * time.Second
)

// Forwarder passes connections on to one address.
type Forwarder struct {
	// To is the address of the program.
	To string
}

// Serve passes on the connections of a listener until ctx ends, and then returns: connections in flight go on for as long as
// the process lives.
func (f Forwarder) Serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			continue // too many open files, or a client that has gone
		}
		go f.pass(context.WithoutCancel(ctx), conn)
	}
}

// pass copies in both directions. The end of one direction is passed on and leaves the other open, as some protocols need.
func (f Forwarder) pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	program, err := (&net.Dialer{}).DialContext(ctx, "tcp", f.To)
	cancel()
	if err != nil {
		return // the client sees a connection that ends at once, as from a port that is closed
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
	// A broken direction breaks the other: nobody would read the answer.
	_ = to.Close()
	_ = from.Close()
}

// Ready answers at /ready whether the program accepts connections.
func (f Forwarder) Ready() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), dialLimit)
		defer cancel()
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", f.To)
		if err != nil {
			http.Error(w, "nothing accepts connections on "+f.To, http.StatusServiceUnavailable)
			return
		}
		_ = conn.Close()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// Run listens on both addresses until ctx ends.
func (f Forwarder) Run(ctx context.Context, listen, ready string) error {
	var config net.ListenConfig
	traffic, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	probes, err := config.Listen(ctx, "tcp", ready)
	if err != nil {
		return errors.Join(err, traffic.Close())
	}
	server := &http.Server{Handler: f.Ready(), ReadHeaderTimeout: readyLimit, WriteTimeout: readyLimit}
	defer func() { _ = server.Close() }()
	go func() { _ = server.Serve(probes) }()
	return f.Serve(ctx, traffic)
}
