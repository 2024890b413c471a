//go:build !((linux || darwin) && (amd64 || arm64))

package postgres

import "embed"

// bundle is empty: nobody publishes Postgres programs for this platform.
var bundle embed.FS
