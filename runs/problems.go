package runs

import (
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	rows "github.com/flyte-binary/flyte-binary/runs/store/problems"
)

// newProblems returns the loops that count failures over runs.
func newProblems(config problems.Config, deps Deps, leases leased.Leases, logger zerolog.Logger) *problems.Loops {
	return problems.New(config, problems.Deps{Rows: rows.New(deps.Pool), Logs: deps.Peers.Failures, Leases: leases, Clock: deps.Clock, Logger: logger})
}
