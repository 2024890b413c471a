package postgres

import "embed"

//go:embed all:bundle/linux_arm64
var bundle embed.FS
