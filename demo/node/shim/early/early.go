// Package early turns the process into a shim before the rest of the program is initialized. The demo's main imports
// it for this effect alone, and so do test binaries that start containers.
//
// It is the only initialiser of the product with an effect. The reason is cost: the demo binary carries an API
// server whose packages take tens of milliseconds and tens of megabytes to initialize, and a shim runs alongside every
// container. Go initializes packages by their dependencies and then by name, so a package with none but the standard
// library comes before them.
package early

import (
	"os"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

func init() { //nolint:gochecknoinits // see the package comment
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case shim.Command:
		os.Exit(shim.Main())
	case shim.NamesCommand:
		os.Exit(shim.RunWithNames(os.Args[2:]))
	case shim.PortCommand:
		os.Exit(shim.RunWithPort(os.Args[2:]))
	}
}
