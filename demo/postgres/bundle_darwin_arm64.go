package postgres

import "embed"

//go:embed all:bundle/darwin_arm64
var bundle embed.FS
