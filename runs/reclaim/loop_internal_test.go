package reclaim

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// registry has one cluster, whose state each batch may change.
type registry struct{ state states.State }

func (r *registry) All(context.Context) ([]states.State, error) { return []states.State{r.state}, nil }

// batches are three batches of one action.
type batches struct {
	read  int
	after func(batch int)
}

func (b *batches) OnCluster(context.Context, worklists.Placed, schema.Ref, int) ([]schema.Ref, error) {
	if b.read == 3 {
		return nil, nil
	}
	b.read++
	b.after(b.read)
	return []schema.Ref{{ID: int64(b.read)}}, nil
}

func (*batches) Get(context.Context, string, []int64, bool) ([]*enginev1.Assignment, error) {
	return nil, nil
}

func (*batches) Reclaim(context.Context, []store.Reclaim) (int, error) { return 0, nil }

// TestAClusterThatIsBackKeepsTheRest: the batches end when their reason has passed.
func TestAClusterThatIsBackKeepsTheRest(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for name, c := range map[string]struct {
		state string
		code  failure.Reason
		then  func(*states.State)
		want  int
	}{
		"away":                   {states.Ready, failure.ClusterLost, func(*states.State) {}, 3},
		"away, then back":        {states.Ready, failure.ClusterLost, func(s *states.State) { s.SeenAt = now }, 1},
		"removed, and heard":     {states.Removed, failure.ClusterLost, func(s *states.State) { s.SeenAt = now }, 3},
		"drained, and heard":     {states.Draining, failure.ClusterDrained, func(s *states.State) { s.SeenAt = now }, 3},
		"drained, then uncordon": {states.Draining, failure.ClusterDrained, func(s *states.State) { s.State = states.Ready }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clusters := &registry{states.State{Name: "east", State: c.state, SeenAt: now.Add(-time.Minute)}}
			from := clusters.state
			reader := &batches{after: func(batch int) {
				if batch == 1 {
					c.then(&clusters.state)
				}
			}}
			loop := New(DefaultConfig(), Deps{
				Clusters: clusters, Reader: reader, Assignments: reader, Writer: reader, Clock: clock.System{}, Logger: zerolog.Nop(),
			})
			require.NoError(t, loop.all(t.Context(), from, worklists.Placed{Cluster: "east"}, failure.New(c.code, "a test")))
			require.Equal(t, c.want, reader.read)
		})
	}
}
