//go:build !failpoints

package failpoint

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Here does nothing in this build.
func Here(string) {}

// Hang does nothing in this build.
func Hang(context.Context) error { return nil }

// Clock is the clock itself in this build.
func Clock(c clock.Clock) clock.Clock { return c }
