// Command configdoc writes docs/configuration.md and the JSON Schema of the configuration from the configuration structs: their
// fields, the comments on them and the defaults. It runs at generation only and must be started in manager/.
package main

import (
	"fmt"
	"os"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: configdoc FILE SCHEMA"))
	}
	text, err := render(configuration.DefaultConfig(), "..")
	if err != nil {
		fail(err)
	}
	described, err := schema(configuration.DefaultConfig(), "..")
	if err != nil {
		fail(err)
	}
	for path, content := range map[string][]byte{os.Args[1]: []byte(text), os.Args[2]: described} {
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // a document
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "configdoc:", err)
	os.Exit(1)
}
