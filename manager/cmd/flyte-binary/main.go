// Command flyte-binary is the product without the demo mode, for the container image.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/flyte-binary/flyte-binary/manager/command"
)

func main() {
	if err := command.New().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "flyte-binary:", err)
		os.Exit(1)
	}
}
