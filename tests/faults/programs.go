package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// errMissing means that something was not built.
var errMissing = errors.New("missing")

// findPrograms finds what must have been built, and builds the rest.
func findPrograms(ctx context.Context, o options, dir string) (stack.Programs, error) {
	p, err := builtPrograms(o)
	if err != nil {
		return p, err
	}
	p.Task = filepath.Join(dir, "task")
	if err := build(ctx, p.Task, "./tests/faults/task"); err != nil {
		return p, err
	}
	if p.Server == "" {
		p.Server = filepath.Join(dir, "flyte-binary")
		err = build(ctx, p.Server, "./manager/cmd/flyte-binary", "-tags", "failpoints,grpcnotrace,disable_grpc_modules") // the first one besides those of the Makefile
	}
	return p, err
}

// builtPrograms finds the demo and the programs of a cluster.
func builtPrograms(o options) (stack.Programs, error) {
	p := stack.Programs{Two: o.clusters, Server: o.server, Demo: first(o.demo, os.Getenv("FLYTE_BINARY_DEMO"), filepath.Join(root(), "bin", "flyte-binary"))}
	p.Tools = first(o.tools, os.Getenv("KUBEBUILDER_ASSETS"), filepath.Join(root(), ".bin"))
	var err error
	for _, path := range []*string{&p.Demo, &p.Tools, &p.Server} {
		if *path == "" {
			continue // built later
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return p, err
		}
	}
	if _, err := os.Stat(p.Demo); err != nil {
		return p, fmt.Errorf("%w: %s; make build-demo builds it", errMissing, p.Demo)
	}
	if _, err := os.Stat(filepath.Join(p.Tools, "kube-apiserver")); err != nil {
		return p, fmt.Errorf("%w: %s/kube-apiserver; make cluster-tools builds it", errMissing, p.Tools)
	}
	return p, nil
}

func first(choices ...string) string {
	for _, choice := range choices {
		if choice != "" {
			return choice
		}
	}
	return ""
}

// root is the top of the source tree: here, or above a test's directory.
func root() string {
	if _, err := os.Stat("go.mod"); err == nil {
		return "."
	}
	return "../.."
}

func build(ctx context.Context, path, what string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path}, flags...)
	command := exec.CommandContext(ctx, "go", append(args, what)...)
	command.Dir = root()
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, said)
	}
	return nil
}
