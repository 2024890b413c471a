package demo

import (
	"fmt"
	"os"
	"path/filepath"
)

// clientConfig is the path of the configuration for the SDK and its command line.
func (d *demo) clientConfig() string { return filepath.Join(d.dir.Root(), "config.yaml") }

func (d *demo) writeClientConfig() error {
	// The builder is remote: the server answers for images, so that clients do not look for Docker.
	content := fmt.Sprintf(`# For the demo in this directory: flyte --config %s ...
admin: {endpoint: "dns:///%s", insecure: true}
task: {project: flytesnacks, domain: development}
image: {builder: remote}
`, d.clientConfig(), d.authority())
	if err := os.WriteFile(d.clientConfig(), []byte(content), 0o644); err != nil { //nolint:gosec // nothing secret in it
		return fmt.Errorf("write the configuration for clients: %w", err)
	}
	return nil
}
