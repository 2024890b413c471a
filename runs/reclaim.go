package runs

import (
	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/reclaim"
)

// newReclaim makes the loop that takes attempts back from clusters; nil if no one says how the clusters are.
func newReclaim(config Config, deps Deps, l *loops, leases leased.Leases, logger zerolog.Logger) *reclaim.Loop {
	if deps.Lost.Clusters == nil {
		return nil
	}
	return reclaim.New(config.Clusters, reclaim.Deps{
		Clusters: deps.Lost.Clusters, Reader: l.live, Writer: l.writer, Queues: l.queues, MaxSystemFailures: deps.Lost.MaxSystemFailures,
		Elsewhere: func(of *enginev1.Assignment) bool { return l.places.Elsewhere(asks.Assigned(of), of.GetCluster()) },
		// Not those of executors: what is read to be taken back is not measured as handed out.
		Assignments: dispatch.NewAssignments(config.Assignments, dispatch.Deps{Reader: l.live, Clock: deps.Clock, Logger: logger}),
		Taken:       l.meters.countReclaimed,
		Leases:      leases, Clock: deps.Clock, Logger: logger,
	})
}
