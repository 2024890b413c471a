package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flyte-binary/flyte-binary/demo/clientcache"
)

// clientConfig is the path of the configuration for the SDK and its command line.
func (d *demo) clientConfig() string { return filepath.Join(d.dir.Root(), "config.yaml") }

func (d *demo) writeClientConfig() error {
	// The builder is remote: the server answers for images, so that clients do not look for Docker.
	content := fmt.Sprintf(`# For the demo in this directory: flyte --config %s ...
admin: {endpoint: "dns:///%s", %s}
task: {project: flytesnacks, domain: development}
image: {builder: remote}
`, d.clientConfig(), d.authority(), d.clientAccess())
	if err := os.WriteFile(d.clientConfig(), []byte(content), 0o644); err != nil { //nolint:gosec // nothing secret in it
		return fmt.Errorf("write the configuration for clients: %w", err)
	}
	return nil
}

// cleanClientCache makes the SDK upload again what an earlier demo had and this one lacks.
func (d *demo) cleanClientCache(ctx context.Context) {
	count, err := clientcache.Forget(ctx, filepath.Join(d.opts.python.Dir, "bin", "python"))
	switch {
	case err != nil:
		d.log.Warn().Err(err).Msg("cannot clean the SDK's cache, which may name deleted code; if a task cannot load its code, delete the cache")
	case count > 0:
		d.log.Info().Int("entries", count).Msg("removed entries of deleted code from the SDK's cache")
	}
}
