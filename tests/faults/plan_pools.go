package main

import (
	"math/rand/v2"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// newPoolPlan creates the plan of a seed over reusable environments: the runs of newPlan, most of whose tasks workers run.
func newPoolPlan(seed uint64, kinds []string) plan {
	p := newPlan(seed, kinds)
	r := rand.New(rand.NewPCG(seed, 0x9001))
	for i := range p.runs {
		pool(r, &p.runs[i].root)
	}
	return p
}

// pool draws where a task and everything below it runs. The secrets of a worker are those of its pod, so tasks that ask for one
// keep pods of their own.
func pool(r *rand.Rand, n *script.Node) {
	for i := range n.Children {
		pool(r, &n.Children[i])
	}
	switch where := r.IntN(8); {
	case n.Kind != script.Task || n.Secret != "" || where == 0:
	case len(n.Children) == 0 && where < 5:
		n.Pool = script.FlatPool
	default:
		n.Pool = script.NestedPool
	}
}
