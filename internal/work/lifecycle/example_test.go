package lifecycle_test

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// greeter is a Part with one loop: it embeds Background, which brings Stop.
type greeter struct {
	lifecycle.Background
	name  string
	ready chan struct{}
}

func (g *greeter) Start(ctx context.Context) error {
	err := g.Run(ctx, func(ctx context.Context) {
		fmt.Println(g.name, "works")
		close(g.ready)
		<-ctx.Done()
		fmt.Println(g.name, "ends")
	})
	<-g.ready
	return err
}

// Parts start in the order of their dependencies and stop in reverse.
func ExampleGroup() {
	group := lifecycle.NewGroup(
		lifecycle.Named{Name: "store", Part: &greeter{name: "store", ready: make(chan struct{})}},
		lifecycle.Named{Name: "server", Part: &greeter{name: "server", ready: make(chan struct{})}},
	)
	if err := group.Start(context.Background()); err != nil {
		fmt.Println(err)
	}
	if err := group.Stop(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// store works
	// server works
	// server ends
	// store ends
}
