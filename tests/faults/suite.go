package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/tests/faults/progress"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// suite runs storms, one after the other, on one stack for as long as they pass.
type suite struct {
	options  options
	out      io.Writer
	programs stack.Programs
	dir      string

	stacks     int
	stack      *stack.Stack
	restarters []*restarter
	injector   *injector
	progress   *progress.File
}

func newSuite(ctx context.Context, o options, out io.Writer) (*suite, error) {
	dir, err := os.MkdirTemp(o.dir, "flyte-faults-")
	if err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	s := &suite{options: o, out: out, dir: dir}
	if s.progress, err = progress.Open(o.done); err != nil {
		return nil, err
	}
	if s.programs, err = findPrograms(ctx, o, dir); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *suite) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// run runs the storms of the options and ends the stack.
func (s *suite) run(ctx context.Context) (failed []uint64, err error) {
	defer s.close()
	return s.storms(ctx)
}

// storms runs the storms of all seeds and returns those that failed.
func (s *suite) storms(ctx context.Context) (failed []uint64, err error) {
	began := time.Now()
	ran, known := 0, 0
	for seed := s.options.first; seed < s.options.first+uint64(s.options.seeds); seed++ {
		if ctx.Err() != nil || (s.options.minutes > 0 && time.Since(began) > time.Duration(s.options.minutes)*time.Minute) {
			break
		}
		if s.progress.Passed(seed, s.options.replayFlags()) {
			known++
			continue
		}
		r, err := s.one(ctx, seed)
		if err != nil {
			return failed, err
		}
		ran++
		s.say("%s", r.line())
		if err := s.progress.Note(seed, s.options.replayFlags(), !r.failed()); err != nil {
			return failed, err
		}
		if r.failed() {
			failed = append(failed, seed)
			s.report(ctx, r)
			if s.options.failFast {
				break
			}
		}
	}
	s.say("%d storms in %s, %d failed, %d had passed before", ran, time.Since(began).Round(time.Second), len(failed), known)
	return failed, ctx.Err()
}

func (s *suite) one(ctx context.Context, seed uint64) (result, error) {
	if s.stack == nil {
		if err := s.start(ctx); err != nil {
			return result{}, err
		}
	}
	p := s.options.plan(seed)
	if s.options.verbose {
		for _, f := range p.faults {
			s.say("  %s", f)
		}
	}
	return storm(ctx, s.stack, p, s.injector), nil
}

// startLimit bounds the start of everything; a program that makes no progress is given up earlier.
const startLimit = 15 * time.Minute

func (s *suite) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s.stacks++
	var err error
	s.stack, err = stack.New(ctx, s.programs, filepath.Join(s.dir, fmt.Sprint(s.stacks)))
	if err != nil {
		s.stack = nil
		return fmt.Errorf("start the stack in %s: %w", s.dir, err)
	}
	server, node, etcd := restartWith(s.stack.Server, s.stack.StartServer), restartAlways(s.stack.Node), restartAlways(s.stack.Etcd)
	api, replica := restartAlways(s.stack.APIServer), restartAlways(s.stack.Replica)
	s.restarters = []*restarter{server, node, etcd, api, replica, restartAlways(s.stack.Controllers)}
	var controllers []*restarter
	for _, side := range s.stack.Sides {
		controllers = append(controllers, restartAlways(side.Controller))
	}
	s.restarters = append(s.restarters, controllers...)
	if len(s.stack.Sides) > 1 {
		s.restarters = append(s.restarters, restartAlways(s.stack.Sides[1].Node))
	}
	s.injector = &injector{controllers: controllers, stack: s.stack, server: server, node: node, etcd: etcd, api: api, replica: replica, say: s.say}
	return nil
}

// report prints what went wrong and how to reproduce it, keeps the evidence, and gives the next storm a new stack.
func (s *suite) report(ctx context.Context, r result) {
	for _, f := range r.faults {
		s.say("    fault: %s", f)
	}
	for _, v := range r.violations {
		s.say("    %s", v)
	}
	if r.err != nil {
		s.say("    %v", r.err)
	}
	kept := s.stack.Dir
	if err := dump(context.WithoutCancel(ctx), s.stack); err != nil {
		s.say("    the database could not be dumped: %v", err)
	}
	s.say("    kept: %s (logs, database.sql, ledger)", kept)
	s.say("    replay: go run ./tests/faults -seed %d%s", r.seed, s.options.replayFlags())
	s.stop()
}

func (s *suite) stop() {
	if s.stack == nil {
		return
	}
	for _, k := range s.restarters {
		k.close()
	}
	s.stack.Stop()
	s.stack = nil
}

func (s *suite) close() {
	healthy := s.stack != nil && s.stacks == 1
	s.stop()
	if healthy && !s.options.keep {
		os.RemoveAll(s.dir) //nolint:errcheck // a temporary directory
	}
}

// dump writes the database as text.
func dump(ctx context.Context, s *stack.Stack) error {
	bin, err := pgembed.Find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(bin, "pg_dump"), "--file", filepath.Join(s.Dir, "database.sql"), s.DSN())
	if said, err := command.CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(said)))
	}
	return nil
}
