package warm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/inpod/forkable"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

//go:embed parent.py
var parentProgram []byte

// Pool owns the parents of a node.
type Pool struct {
	cfg   Config
	log   zerolog.Logger
	clk   clock.Clock
	file  string // parentProgram
	count *Counts

	mu      sync.Mutex
	members map[string]*member // GUARDED_BY(mu): by what the parent is for
	retired []retired          // GUARDED_BY(mu)
	stopped bool               // GUARDED_BY(mu)
	work    sync.WaitGroup     // starts and ends of parents
}

// member is a parent that is being started, runs, or has failed.
type member struct {
	program program
	settled chan struct{} // closed when the fields below are set
	parent  *parent       // nil if there is none; GUARDED_BY the pool's lock once it is settled
	began   time.Time
	failed  time.Time // when it failed; zero if it did not
	slow    bool      // it failed because it made no progress
	used    time.Time // GUARDED_BY the pool's lock

	// Of the loop that renews parents.
	learned []string            // what was tried last
	unfit   map[string]struct{} // packages that must not be imported before a fork
}

// New returns a pool without parents. The program of parents is written to the configured directory.
func New(cfg Config, log zerolog.Logger, clk clock.Clock) (*Pool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("warm starts: %w", err)
	}
	p := &Pool{
		cfg: cfg, log: log, clk: clk, members: map[string]*member{}, count: newCounts(), file: filepath.Join(cfg.Dir, "parent.py"),
	}
	if !cfg.Enabled {
		return p, nil
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("warm starts: create the directory: %w", err)
	}
	for name, text := range map[string][]byte{
		"parent.py": parentProgram, "learned.py": learnedProgram, "effects.py": effectsProgram, "order.py": orderProgram, forkable.Name: forkable.Program,
	} {
		file := filepath.Join(cfg.Dir, name)
		// Renamed, so that a parent that is just being started reads the old file or the new one.
		if err := os.WriteFile(file+".next", text, 0o600); err != nil {
			return nil, fmt.Errorf("warm starts: write the program of parents: %w", err)
		}
		if err := os.Rename(file+".next", file); err != nil {
			return nil, fmt.Errorf("warm starts: write the program of parents: %w", err)
		}
	}
	return p, nil
}

// Counts are the starts so far.
func (p *Pool) Counts() *Counts { return p.count }

// Find finds or starts the parent of a process, waits until it is ready, and returns it. nil means a cold start, which is
// counted. The wait ends early, with a cold start, when the context or stop does.
func (p *Pool) Find(ctx context.Context, stop <-chan struct{}, r Request) *Fork {
	found, reason := p.find(ctx, stop, r)
	if reason != None {
		p.count.add(reason)
		return nil
	}
	return &Fork{pool: p, parent: found}
}

func (p *Pool) find(ctx context.Context, stop <-chan struct{}, r Request) (*parent, Reason) {
	if !p.cfg.Enabled {
		return nil, Off
	}
	if reason := judge(r); reason != None {
		return nil, reason
	}
	command, err := forkable.Interpreter(r.Path)
	if err != nil {
		return nil, Interpreter
	}
	m, reason := p.member(program{interpreter: command, script: r.Path, env: variables(r.Env), varying: varying(r.Env)})
	if reason != None {
		return nil, reason
	}
	// The start ends by itself when it makes no progress.
	select {
	case <-m.settled:
	case <-ctx.Done():
		return nil, Slow
	case <-stop:
		return nil, Slow
	}
	p.mu.Lock()
	one := m.parent
	p.mu.Unlock()
	switch {
	case one == nil && m.slow:
		return nil, Slow
	case one == nil:
		return nil, Unfit
	case differs(one.read, one.env, r.Env):
		return nil, Variables
	}
	return one, None
}

// member is the parent of a program, which may not be ready yet.
func (p *Pool) member(of program) (*member, Reason) {
	key := of.key()
	now := p.clk.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, Off
	}
	m := p.members[key]
	if m != nil {
		m.used = now
		switch reason := p.condition(m, now); reason {
		case None:
			return m, None
		case Failed: // it may be tried again
			p.drop(key)
		default:
			return nil, reason
		}
	}
	if len(p.members) >= p.cfg.Parents && !p.makeRoom(now) {
		return nil, Full
	}
	of.reports, of.forkers = p.reportsDir(of), p.cfg.Forkers
	m = &member{program: of, settled: make(chan struct{}), began: now, used: now, unfit: map[string]struct{}{}}
	p.members[key] = m
	p.work.Go(func() { p.start(m, of) })
	return m, None
}

// condition is None for a parent that starts or can be used, Failed for one that is to be replaced, and otherwise why
// there is none for now. Called with the lock held.
func (p *Pool) condition(m *member, now time.Time) Reason {
	if !closed(m.settled) {
		return None
	}
	recent := func(since time.Time) bool { return now.Sub(since) < p.cfg.Pause }
	switch {
	case m.parent == nil && recent(m.failed):
		return Unfit
	case m.parent == nil:
		return Failed
	case m.parent.gone() && recent(m.began):
		return Unfit // something ends it, and would end the next one
	case m.parent.gone():
		return Failed
	}
	if path := m.parent.files.changed(); path != "" {
		p.log.Info().Str("file", path).Msg("file of a warm parent changed; restarting the parent")
		return Failed
	}
	return None
}

// makeRoom ends the parent that was used least recently, unless all are in use. Called with the lock held.
func (p *Pool) makeRoom(now time.Time) bool {
	oldest := ""
	for key, m := range p.members {
		if closed(m.settled) && now.Sub(m.used) >= p.cfg.Pause && (oldest == "" || m.used.Before(p.members[oldest].used)) {
			oldest = key
		}
	}
	if oldest != "" {
		p.drop(oldest)
	}
	return oldest != ""
}

// drop ends a parent and forgets it. Called with the lock held.
func (p *Pool) drop(key string) {
	m := p.members[key]
	delete(p.members, key)
	p.work.Go(func() {
		<-m.settled
		p.mu.Lock()
		one := m.parent
		p.mu.Unlock()
		if one != nil {
			one.end()
		}
	})
}

// start starts a parent and settles its member.
func (p *Pool) start(m *member, of program) {
	defer close(m.settled)
	err := os.MkdirAll(of.reports, 0o700)
	if err == nil {
		m.parent, err = p.ready(of, p.cfg.Ready)
	}
	if err != nil {
		m.failed, m.slow = p.clk.Now(), errors.Is(err, errStalled)
		p.log.Warn().Err(err).Str("script", of.script).Dur("pause", p.cfg.Pause).Msg("no warm parent; tasks start cold")
	}
}

// ready starts a parent and waits until it can be used. Files that have changed while they were imported are imported again.
func (p *Pool) ready(of program, limit time.Duration) (*parent, error) {
	var failure error
	for range 2 {
		began := time.Now() // files have the time of the kernel
		one, err := startParent(p.file, p.cfg.Executable, of)
		if err != nil {
			return nil, err
		}
		if err = one.greet(began.Add(limit), p.cfg.Stall); err != nil {
			one.end()
			return nil, err
		}
		path, newest := one.files.newest()
		if newest.Before(began) {
			p.log.Info().Str("script", of.script).Int("pid", one.cmd.Process.Pid).Dur("took", time.Since(began)).
				Msg("a warm parent is ready")
			return one, nil
		}
		one.end()
		failure = fmt.Errorf("%s changed while the environment was imported", path)
	}
	return nil, failure
}

// Run renews parents that can learn and ends idle ones, until the context ends.
func (p *Pool) Run(ctx context.Context) {
	for clock.Sleep(ctx, p.clk, p.cfg.Learn) == nil {
		p.learn(ctx)
		p.endRetired(false)
		p.retireIdle()
	}
}

func (p *Pool) retireIdle() {
	now := p.clk.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, m := range p.members {
		if closed(m.settled) && now.Sub(m.used) >= p.cfg.Idle {
			p.drop(key)
		}
	}
}

// Stop ends all parents. What they have forked is not touched.
func (p *Pool) Stop() {
	p.mu.Lock()
	p.stopped = true
	for key := range p.members {
		p.drop(key)
	}
	p.mu.Unlock()
	p.endRetired(true)
	p.work.Wait()
}

// Fork is one start from a parent. It implements process.Forker.
type Fork struct {
	pool   *Pool
	parent *parent
}

// Fork implements process.Forker.
func (f *Fork) Fork(input, report, lock, control *os.File) error {
	return f.parent.fork(f.pool.cfg.Fork, input, report, lock, control)
}

// Result implements process.Forker.
func (f *Fork) Result(warm bool, failure string) {
	switch {
	case warm:
		f.pool.count.add(None)
	case failure != "":
		f.pool.log.Warn().Str("why", failure).Msg("warm start failed; process started cold")
		f.pool.count.add(Failed)
	}
}

func closed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
