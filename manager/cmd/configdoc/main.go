// Command configdoc writes docs/configuration.md from the configuration structs: their fields, the comments on them
// and the defaults. It runs at generation only and must be started in manager/.
package main

import (
	"fmt"
	"os"

	"github.com/flyte-binary/flyte-binary/manager"
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: configdoc FILE"))
	}
	text, err := render(manager.DefaultConfig(), "..")
	if err != nil {
		fail(err)
	}
	if err := os.WriteFile(os.Args[1], []byte(text), 0o644); err != nil { //nolint:gosec // a document
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "configdoc:", err)
	os.Exit(1)
}
