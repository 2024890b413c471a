package postgres

import "embed"

//go:embed all:bundle/linux_amd64
var bundle embed.FS
