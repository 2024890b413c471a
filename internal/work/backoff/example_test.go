package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The caller stops after a number of attempts, or when its context ends.
func ExampleBackoff() {
	ctx, clk := context.Background(), clock.System{}
	calls := 0
	connect := func() error {
		if calls++; calls < 3 {
			return errors.New("connection refused")
		}
		return nil
	}
	b := backoff.New(time.Millisecond, 10*time.Millisecond)
	err := connect()
	for err != nil && b.Failures() < 5 && b.Wait(ctx, clk) == nil {
		err = connect()
	}
	fmt.Println(calls, "calls, error:", err)
	// Output: 3 calls, error: <nil>
}
