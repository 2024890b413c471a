package command

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/obs/klogs"
)

// quiet drops what libraries log by themselves, for commands whose output is for people: they report what they found.
func quiet() { klogs.Install(zerolog.Nop()) }
