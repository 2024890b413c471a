package manager

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// Server is the whole process, put together by Config.Complete.
type Server struct {
	config  Config
	log     zerolog.Logger
	clock   clock.Clock
	ready   checks
	port    *port
	parts   *lifecycle.Group
	closers []func() error
}

var _ lifecycle.Part = (*Server)(nil)

// Start starts every part; the port last, so that it answers only when everything works.
func (s *Server) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop stops every part in reverse and closes what was opened.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.parts.Stop(ctx), s.close())
}

// Addr is the address of the port, after Complete.
func (s *Server) Addr() string { return s.port.addr() }

// Run starts the server, waits until the context ends, and stops it within the configured grace.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	s.log.Info().Str("address", s.Addr()).Interface("config", Redacted(s.config)).Msg("serving")
	<-ctx.Done()
	s.log.Info().Msg("stopping")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Server.ShutdownGrace)
	defer cancel()
	return s.Stop(stopping)
}

func (s *Server) onClose(f func() error) { s.closers = append(s.closers, f) }

// close closes what Complete opened, last first. A second call does nothing.
func (s *Server) close() error {
	var failures []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		failures = append(failures, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(failures...)
}

// routes is everything that the port serves.
func (s *Server) routes(api *rpc.Mux, blobs *blobstore.Store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.Handle("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.Handler())
	if files := blobs.Handler(); files != nil {
		mux.Handle("/blobs/", files)
	}
	mux.Handle("/", api)
	return mux
}
