// Package sink is what a server notifies and publishes events to during a storm: an HTTP server and a mail server that keep
// all that they were sent, and that can be slow, refuse, lose their answers or answer twice. It serves the fault suite and
// imports nothing of the product.
package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Mode is how requests are answered.
type Mode int

// The modes.
const (
	Healthy   Mode = iota
	Slow           // takes it, and answers after Delay
	Refusing       // answers 503
	Cutting        // closes the connection instead of taking it
	Forgetful      // takes it, and closes the connection instead of answering
	Stammer        // takes it, and answers twice
)

// Delay is how long a slow answer takes.
const Delay = 1500 * time.Millisecond

// maxBody bounds what is read of a request.
const maxBody = 1 << 20

// Server receives. It is safe for concurrent use.
type Server struct {
	url    string
	server *http.Server

	mails    *smtp.Server
	mailPort int

	mu      sync.Mutex
	mode    Mode                // GUARDED_BY(mu)
	notes   map[string][]Note   // GUARDED_BY(mu): by run
	events  map[string][]Change // GUARDED_BY(mu): by run, in the order of their arrival
	audited []Audited           // GUARDED_BY(mu): in the order of their arrival
}

// New starts a server on a free port of this machine.
func New() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // binding does not wait
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	s := &Server{url: "http://" + listener.Addr().String(), notes: map[string][]Note{}, events: map[string][]Change{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+notePath+"{rule}", func(w http.ResponseWriter, r *http.Request) { s.receive(w, r, s.takeNote) })
	mux.HandleFunc("POST "+gonePath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	mux.HandleFunc("POST "+eventPath, func(w http.ResponseWriter, r *http.Request) { s.receive(w, r, s.takeEvent) })
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go s.server.Serve(listener) //nolint:errcheck // until Close
	if err := s.startMail(); err != nil {
		_ = s.server.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the servers and every connection.
func (s *Server) Close() {
	_ = s.server.Close()
	_ = s.mails.Close()
}

// Set changes how requests are answered from now on.
func (s *Server) Set(mode Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
}

func (s *Server) now() Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// receive takes what a request has, if the mode allows it, and answers as the mode says.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, take func(*http.Request, []byte) error) {
	mode := s.now()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest) // its sender is gone
		return
	case mode == Refusing:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case mode == Cutting:
		_ = cut(w, "")
		return
	}
	if err := take(r, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch mode {
	case Slow:
		wait(r.Context(), Delay)
	case Forgetful:
		_ = cut(w, "")
		return
	case Stammer:
		_ = cut(w, answer+answer)
		return
	default:
	}
	w.WriteHeader(http.StatusNoContent)
}

const answer = "HTTP/1.1 204 No Content\r\n\r\n"

// cut writes some bytes to the connection of a request and closes it.
func cut(w http.ResponseWriter, bytes string) error {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return errors.New("the connection cannot be taken over")
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.WriteString(conn, bytes)
	return err
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
