package main

import (
	"context"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// measureDemo starts apps from zero in the demo, where the controllers and the node are real. program is the built demo.
func measureDemo(program string, starts int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		python, err := endsAtOnce(s.Dir) // it is never used; so none is installed
		if err != nil {
			return err
		}
		demo, address, err := stack.StartDemo(ctx, s.Dir, program, python)
		if err != nil {
			return err
		}
		defer stack.StopProcess(demo)
		apps := newAppClient("http://" + address)
		defer apps.close()
		return measureColdStarts(ctx, r, s.Dir, apps, starts)
	}
}
