// Command faults breaks everything around the product, and the product itself, while it works, and then checks that it kept
// its promises (docs/promises.md). A seed defines a storm: a load of runs of all kinds, and faults of all kinds at their
// times. The server, its database, the API server and its store, the node and the tasks are processes of their own. The last
// lines of a failed storm say how to reproduce it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	s, err := newSuite(ctx, o, os.Stdout)
	if err == nil {
		var failed []uint64
		if failed, err = s.run(ctx); err == nil && len(failed) > 0 {
			err = fmt.Errorf("these seeds failed: %v", failed)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}
