package clock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// A test creates a Fake where the product gets a System, and moves it instead of waiting.
func ExampleFake() {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	timer := fake.NewTimer(time.Hour)
	fake.Step(59 * time.Minute)
	fmt.Println("armed timers:", fake.Timers())
	fake.Step(time.Minute)
	fmt.Println("fired at", (<-timer.C()).Format(time.TimeOnly))
	// Output:
	// armed timers: 1
	// fired at 01:00:00
}

// A loop sleeps until its next turn and ends with its context.
func ExampleSleep() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clk := clock.System{}
	for turn := 1; clock.Sleep(ctx, clk, time.Millisecond) == nil; turn++ {
		fmt.Println("turn", turn)
		if turn == 2 {
			cancel()
		}
	}
	fmt.Println(ctx.Err())
	// Output:
	// turn 1
	// turn 2
	// context canceled
}
