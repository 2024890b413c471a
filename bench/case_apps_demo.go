package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

var demoReady = regexp.MustCompile(`Ready in \S+: (http://\S+)`)

// measureDemo starts apps from zero in the demo, where the controllers and the node are real. program is the built demo.
func measureDemo(program string, starts int) func(context.Context, *stack, *Result) error {
	return func(ctx context.Context, s *stack, r *Result) error {
		program, err := filepath.Abs(cmp.Or(program, os.Getenv("FLYTE_BINARY_DEMO"), filepath.Join("bin", "flyte-binary")))
		if err != nil {
			return err
		}
		if _, err := os.Stat(program); err != nil {
			return fmt.Errorf("%w; build it with make build-demo", err)
		}
		// An environment that is never used, so that none is installed.
		python := filepath.Join(s.dir, "python")
		if err := os.MkdirAll(filepath.Join(python, "bin"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(python, "bin", "a0"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			return err
		}
		process, err := spawn(s.dir, "demo", program, nil, "demo", "--ephemeral", "--listen", "127.0.0.1:0", "--python", python)
		if err != nil {
			return err
		}
		defer stopProcess(process)
		url := ""
		err = awaitReady(ctx, process, func(context.Context) error {
			said, err := os.ReadFile(filepath.Join(s.dir, "demo.log"))
			if err != nil {
				return err
			}
			found := demoReady.FindSubmatch(said)
			if found == nil {
				return errors.New("the demo is not ready")
			}
			url = string(found[1])
			return nil
		})
		if err != nil {
			return err
		}
		apps := newAppClient(url)
		defer apps.close()
		return measureColdStarts(ctx, r, s.dir, apps, starts)
	}
}
