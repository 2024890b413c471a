package child

import (
	"context"
	"time"
)

const (
	// readyPoll is the pause between two questions whether the child works.
	readyPoll = 20 * time.Millisecond
	// firstPause and longestPause bound the wait before a restart; it doubles with each death in a row.
	firstPause   = 50 * time.Millisecond
	longestPause = 10 * time.Second
	// settled is the time after which a child counts as healthy, so that its next death is the first in a row again.
	settled = 30 * time.Second
)

// supervise starts the child again whenever it ends, until the context is cancelled.
func (p *Process) supervise(ctx context.Context, life *running) {
	defer close(p.done)
	pause := firstPause
	for {
		born := p.cfg.Clock.Now()
		<-life.ended
		p.mu.Lock()
		p.current = nil
		p.mu.Unlock()
		life.stdin.Close()
		if ctx.Err() != nil {
			return
		}
		if p.cfg.Clock.Now().Sub(born) > settled {
			pause = firstPause
		}
		p.cfg.Log.Error().Str("child", p.cfg.Name).Err(exitError(life.err)).Stringer("pause", pause).
			Msg("child died; starting it again")
		life = p.relaunch(ctx, &pause)
		if life == nil {
			return
		}
	}
}

// relaunch waits and starts the child until that works; nil when the context ended first.
func (p *Process) relaunch(ctx context.Context, pause *time.Duration) *running {
	for {
		timer := p.cfg.Clock.NewTimer(*pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		*pause = min(2**pause, longestPause)
		began := p.cfg.Clock.Now()
		life, err := p.launch()
		if err != nil {
			p.cfg.Log.Error().Str("child", p.cfg.Name).Err(err).Msg("child does not start")
			continue
		}
		// Stop may have looked for the child just before this life began.
		if ctx.Err() != nil {
			p.end(context.WithoutCancel(ctx), life)
			return nil
		}
		if err := p.waitReady(ctx, life); err != nil {
			p.end(context.WithoutCancel(ctx), life)
			if ctx.Err() != nil {
				return nil
			}
			p.cfg.Log.Error().Str("child", p.cfg.Name).Err(err).Msg("child started and does not work")
			continue
		}
		p.cfg.Log.Info().Str("child", p.cfg.Name).Stringer("took", p.cfg.Clock.Now().Sub(began)).Msg("child works again")
		return life
	}
}
