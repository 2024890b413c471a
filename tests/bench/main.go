// Command bench measures the product from outside: the server, a Postgres, an API server and its store are processes of
// their own, a fake node ends pods without running them, and this process is the client, over HTTP. It prints a
// table and, with -json, a file. docs/performance.md explains the figures.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/flyte-binary/flyte-binary/tests/bench/answers"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the chosen cases and prints their table to out; progress goes to progress. With seed-run as the first
// argument it stores a run instead, and with answer it is the program of an app.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) > 0 && args[0] == "seed-run" {
		return seedRun(ctx, args[1:], out, progress)
	}
	if len(args) > 0 && args[0] == answers.Command {
		return answers.Serve(ctx, args[1:])
	}
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	if o.list {
		for _, c := range cases(o) {
			fmt.Fprintf(out, "%-14s %s\n", c.name, c.about)
		}
		return nil
	}
	chosen, err := choose(cases(o), o.cases)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "flyte-bench-")
	if err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	// Postgres may run as another user, who has to reach its files in here.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if !o.keep {
			os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		}
	}()
	if o.Server == "" {
		if o.Server, err = stack.BuildServer(ctx, dir); err != nil {
			return err
		}
	}
	apiserver, err := stack.ApiserverProgram(o.Programs)
	if err != nil {
		return err
	}
	machine, err := figures.DescribeMachine(ctx, dir, apiserver)
	if err != nil {
		return err
	}
	b := &bench{options: o, dir: dir, progress: progress}
	report := figures.Report{Machine: machine}
	for _, c := range chosen {
		report.Cases = append(report.Cases, b.measure(ctx, c))
		if ctx.Err() != nil {
			break
		}
	}
	b.close()
	report.Print(out)
	if o.json != "" {
		if err := report.Write(o.json); err != nil {
			return err
		}
	}
	return report.Err()
}
