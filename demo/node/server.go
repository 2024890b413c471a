package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	"github.com/flyte-binary/flyte-binary/demo/node/podlog"
	"github.com/flyte-binary/flyte-binary/demo/node/process"
)

// server is the part of a kubelet's API that is asked for here: logs of containers, and what pods use. Callers must have a certificate.
type server struct {
	n    *Node
	http *http.Server
	port int32
	tls  atomic.Pointer[tls.Config] // with the certificates that are valid now
}

// startServer listens on a port that is free.
func startServer(n *Node, certificates pki.Certificates) (*server, error) {
	listener, err := (&net.ListenConfig{}).Listen(n.ctx, "tcp", net.JoinHostPort(n.cfg.Address, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(errors.New("listen for the API server: no TCP address"), listener.Close())
	}
	s := &server{n: n, port: int32(address.Port)} //nolint:gosec // a port
	if err := s.load(certificates); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.containerLogs)
	mux.HandleFunc("GET /stats/summary", s.summary)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return n.ctx },
		TLSConfig: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.tls.Load(), nil },
		},
	}
	n.loops.Go(s.renew)
	n.loops.Go(func() {
		if err := s.http.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			n.log.Error().Err(err).Msg("the log server failed")
		}
	})
	return s, nil
}

// load takes certificates into use, for connections that are made from now on.
func (s *server) load(certificates pki.Certificates) error {
	pair, err := tls.LoadX509KeyPair(certificates.ServingCertificate, certificates.ServingKey)
	if err != nil {
		return fmt.Errorf("load the node's certificate: %w", err)
	}
	clients, err := certificates.Pool()
	if err != nil {
		return err
	}
	s.tls.Store(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Time: s.n.clk.Now,
	})
	return nil
}

// renew replaces certificates before they expire, until the node ends. The API server reads its own again by itself.
func (s *server) renew() {
	pki.Renew(s.n.ctx, s.n.cfg.Certificates, s.n.cfg.Address, s.n.clk, func(certificates pki.Certificates, err error) {
		if err == nil {
			err = s.load(certificates)
		}
		if err != nil {
			s.n.log.Error().Err(err).Msg("cannot renew the node's certificates; retrying later")
		}
	})
}

func (s *server) stop() { _ = s.http.Close() }

// containerLogs answers with the log of a container.
func (s *server) containerLogs(w http.ResponseWriter, r *http.Request) {
	options, previous, err := logOptions(r.URL.Query(), s.n.clk.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pod, name := r.PathValue("pod"), r.PathValue("container")
	worker := s.n.find(r.PathValue("namespace"), pod)
	if worker == nil {
		http.Error(w, fmt.Sprintf("pod %q is not on this node", pod), http.StatusNotFound)
		return
	}
	p, err := worker.logOf(name, previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// A log that is followed is sent line by line, and its header before the first line.
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	flusher, _ := w.(http.Flusher)
	flush := func() {}
	if options.Follow && flusher != nil {
		flush = flusher.Flush
		flush()
	}
	log := filepath.Join(p.Dir(), process.LogFile)
	if err := podlog.Copy(r.Context(), w, log, options, p.Done(), s.n.clk, flush); err != nil && r.Context().Err() == nil {
		s.n.log.Warn().Err(err).Str("pod", pod).Str("container", name).Msg("reading a log failed")
		panic(http.ErrAbortHandler) // An orderly end would say that the log is complete.
	}
}

// logOf is the run whose log is wanted.
func (w *worker) logOf(name string, previous bool) (*process.Process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.containers {
		if c.spec.Name != name {
			continue
		}
		if previous {
			if c.restarts > 0 {
				if p, err := process.Attach(w.runDir(c, c.restarts-1)); err == nil {
					return p, nil
				}
			}
			return nil, fmt.Errorf("previous terminated container %q in pod %q not found", name, w.latest.Name)
		}
		if c.proc != nil {
			return c.proc, nil
		}
		state := "is not started"
		if c.state.Waiting != nil {
			state = "is waiting to start: " + c.state.Waiting.Reason
		} else if c.state.Terminated != nil {
			state = "could not be started: " + c.state.Terminated.Message
		}
		return nil, fmt.Errorf("container %q in pod %q %s", name, w.latest.Name, state)
	}
	return nil, fmt.Errorf("container %q is not one of pod %q", name, w.latest.Name)
}

// logOptions reads the query of the Pod API.
func logOptions(query url.Values, now time.Time) (o podlog.Options, previous bool, err error) {

	if o.Tail, err = number(query, "tailLines", -1); err != nil {
		return o, false, err
	}
	if o.Limit, err = number(query, "limitBytes", 0); err != nil {
		return o, false, err
	}
	seconds, err := number(query, "sinceSeconds", 0)
	if err != nil {
		return o, false, err
	}
	if seconds > 0 {
		o.Since = now.Add(-time.Duration(seconds) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		var since metav1.Time
		if err := since.UnmarshalQueryParameter(text); err != nil {
			return o, false, fmt.Errorf("sinceTime: %w", err)
		}
		o.Since = since.Time
	}
	switch stream := query.Get("stream"); stream {
	case "", "All":
	case "Stdout":
		o.Stream = "stdout"
	case "Stderr":
		o.Stream = "stderr"
	default:
		return o, false, fmt.Errorf("stream: %q is not All, Stdout or Stderr", stream)
	}
	o.Follow, o.Timestamps = query.Get("follow") == "true", query.Get("timestamps") == "true"
	return o, query.Get("previous") == "true", nil
}

func number(query url.Values, name string, fallback int64) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return fallback, nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < 0 {
		return 0, fmt.Errorf("%s: %q is not a number of 0 or more", name, text)
	}
	return value, nil
}
