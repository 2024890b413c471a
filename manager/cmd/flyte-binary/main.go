// Command flyte-binary is the product without the demo mode, for the container image.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // the image has no zone data, and triggers name time zones

	"github.com/flyte-binary/flyte-binary/manager/command"
)

func main() { os.Exit(command.Main(context.Background(), command.New())) }
