// Command flyte-binary is the product without the demo mode, for the container image.
package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // the image has no zone data, and triggers name time zones

	"github.com/flyte-binary/flyte-binary/manager/command"
)

func main() {
	if err := command.New().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "flyte-binary:", err)
		os.Exit(1)
	}
}
