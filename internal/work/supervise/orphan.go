package supervise

import (
	"context"
	"io"
	"os"
)

// UntilOrphaned is for the child's side of HoldStdin: it returns a context that ends when the parent is gone, which
// closes the child's standard input.
func UntilOrphaned(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}
