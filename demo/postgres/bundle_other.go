//go:build !((linux || darwin) && (amd64 || arm64))

package postgres

import "embed"

// bundle is empty: no one publishes Postgres programs for this platform.
var bundle embed.FS
