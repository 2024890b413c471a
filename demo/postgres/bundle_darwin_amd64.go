package postgres

import "embed"

//go:embed all:bundle/darwin_amd64
var bundle embed.FS
