package taskactions_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// owns is a leader whose replica always owns one shard.
type owns int

func (o owns) While(ctx context.Context, work func(ctx context.Context, shard int)) {
	work(ctx, int(o))
}

// TestAShardIsOwnedApart: each replica creates and deletes the objects of its shard and leaves the others alone, though the
// engine, like one of the version before, sends every action to everybody.
func TestAShardIsOwnedApart(t *testing.T) {
	f := newFixture(t)
	f.installation = f.cluster.Namespace
	one, two := assignment(1, "one"), assignment(2, "two")
	two.GetRef().GetId().GetRun().Name = "s"
	shard := func(a *enginev1.Assignment) int { return ident.RunOf(a.GetRef().GetId().GetRun()).Shard() }
	require.NotEqual(t, shard(one), shard(two))
	f.engine.assign(one, true)
	f.engine.assign(two, true)
	f.leader = owns(shard(one))
	f.start()
	f.eventually("one")
	f.leader = owns(shard(two))
	f.start()
	f.eventually("one two")

	f.engine.release(one, true)
	f.eventually("two")
	f.engine.assign(assignment(3, "three"), true)
	f.eventually("three two")
	f.engine.release(two, true)
	f.eventually("three")
	require.Empty(t, f.events.all())
}
