package pgembed

import (
	"context"
	"fmt"
	"time"
)

// restartLimit bounds the pause between two restarts.
const restartLimit = 5 * time.Second

// watch reports when the server dies unasked, and starts it again if so configured.
func (s *Server) watch(c *child) {
	defer close(s.watched)
	for {
		<-c.done
		s.mu.Lock()
		s.child = nil
		stopping := s.stopping
		s.mu.Unlock()
		if stopping {
			return
		}
		err := fmt.Errorf("postgres died: %w: %s", c.ending(), c.tail)
		s.config.Log.Error().Err(err).Msg("postgres died")
		if s.config.OnExit != nil {
			s.config.OnExit(err)
		}
		if !s.config.Restart {
			return
		}
		if c = s.relaunch(); c == nil {
			return
		}
	}
}

// relaunch tries until the server runs again; nil when Stop came first.
func (s *Server) relaunch() *child {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, restartLimit) {
		c, err := s.launchUntilReady(ctx)
		if err == nil {
			return s.adopt(c)
		}
		s.config.Log.Error().Err(err).Msg("postgres does not start again")
		if !s.pause(ctx, pause) {
			return nil
		}
	}
}

// adopt makes c the running child, unless Stop came first and could not know of it.
func (s *Server) adopt(c *child) *child {
	s.mu.Lock()
	stopping := s.stopping
	if !stopping {
		s.child = c
	}
	s.mu.Unlock()
	if stopping {
		c.stop(context.Background())
		return nil
	}
	s.config.Log.Info().Int("pid", c.pid).Msg("postgres runs again")
	return c
}
