package manager

import (
	"context"
	"errors"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/resident"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// Server is the whole process, put together by Config.Complete.
type Server struct {
	*process
	parts *lifecycle.Group
}

var _ lifecycle.Part = (*Server)(nil)

// Start starts every part; the port last, so that it answers only when everything works.
func (s *Server) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// flushTimeout bounds the wait for a collector that does not answer.
const flushTimeout = 5 * time.Second

// Stop stops every part in reverse, sends the last spans and metrics, and closes what was opened. A second call does nothing.
func (s *Server) Stop(ctx context.Context) error {
	err := s.parts.Stop(ctx)
	// Metrics ask the database, so this comes before it is closed. It must not keep the process from stopping well.
	flushing, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if lost := s.telemetry.Shutdown(flushing); lost != nil {
		s.log.Warn().Err(lost).Msg("sending the last spans and metrics failed")
	}
	return errors.Join(err, s.close(ctx))
}

// Addr is the address of the port, after Complete.
func (s *Server) Addr() string { return s.port.Listener.Addr().String() }

// drain serves for a while with readiness at 503, so that no new connection comes when the port closes. It returns early
// with the error of a port that fails.
func (s *Server) drain() error {
	s.draining.Store(true)
	if s.config.Server.DrainDelay == 0 {
		return nil
	}
	timer := s.clock.NewTimer(s.config.Server.DrainDelay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case failure := <-s.port.Failed:
		return failure
	}
}

// settleTime is how long after the start the process has done what it does once.
const settleTime = 2 * time.Second

// releaseStart gives up the pages of the program that only the start used.
func (s *Server) releaseStart(ctx context.Context) {
	if clock.Sleep(ctx, s.clock, settleTime) != nil {
		return
	}
	if err := resident.Release(); err != nil {
		s.log.Debug().Err(err).Msg("cannot release the memory that only the start used")
	}
}

// Run starts the server, waits until the context ends or the port fails, and stops it within the configured grace.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Start(ctx); err != nil {
		return errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	s.log.Info().Str("address", s.Addr()).Interface("config", configuration.Redacted(s.config)).Msg("serving")
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	go s.releaseStart(running)
	s.warnUnready(ctx)
	if s.open {
		warnOpen(s.log, s.port.Listener.Addr())
	}
	var failure error
	select {
	case <-ctx.Done():
		s.log.Info().Stringer("delay", s.config.Server.DrainDelay).Stringer("grace", s.config.Server.ShutdownGrace).Msg("stopping")
		failure = s.drain()
	case failure = <-s.port.Failed:
		s.log.Error().Err(failure).Msg("stopping")
	}
	stopping, done := context.WithTimeout(context.WithoutCancel(ctx), s.config.Server.ShutdownGrace)
	defer done()
	err := errors.Join(failure, s.Stop(stopping))
	s.log.Info().Err(err).Msg("stopped")
	return err
}

// Instruments are the metrics that the process serves once they have values, without those of libraries.
func (s *Server) Instruments() []obs.Instrument { return s.telemetry.Instruments() }

// warnUnready logs what does not work at the moment, such as an object store or an API server that cannot be reached. The server
// runs all the same and tries again: they may come back.
func (s *Server) warnUnready(ctx context.Context) {
	for _, one := range s.checks.Run(ctx, s.clock) {
		if one.Err != nil && ctx.Err() == nil {
			s.log.Warn().Err(one.Err).Str("check", one.Name).Msg("check failed; retrying")
		}
	}
}
