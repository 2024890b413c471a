package main

import (
	"context"
	"os"
	"path/filepath"
)

// measureDemo starts apps from zero in the demo, where the controllers and the node are real. program is the built demo.
func measureDemo(program string, starts int) func(context.Context, *stack, *Result) error {
	return func(ctx context.Context, s *stack, r *Result) error {
		// An environment that is never used, so that none is installed.
		python := filepath.Join(s.dir, "python")
		if err := os.MkdirAll(filepath.Join(python, "bin"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(python, "bin", "a0"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			return err
		}
		demo, address, err := startDemo(ctx, s.dir, program, python)
		if err != nil {
			return err
		}
		defer stopProcess(demo)
		apps := newAppClient("http://" + address)
		defer apps.close()
		return measureColdStarts(ctx, r, s.dir, apps, starts)
	}
}
