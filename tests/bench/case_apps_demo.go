package main

import (
	"context"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
)

// measureDemo starts apps from zero in the demo, where the controllers and the node are real. program is the built demo.
func measureDemo(program string, starts int) func(context.Context, *stack, *figures.Result) error {
	return func(ctx context.Context, s *stack, r *figures.Result) error {
		python, err := endsAtOnce(s.dir) // it is never used; so none is installed
		if err != nil {
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
