package main

import (
	"math/rand/v2"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// newMixedPlan creates the plan of a seed over all plugins: the runs of newPlan, whose tasks run as pods, in reusable
// environments, as Jobs, and as the objects of operators.
func newMixedPlan(seed uint64, kinds []string) plan {
	p := newPlan(seed, kinds)
	r := rand.New(rand.NewPCG(seed, 0x31f5))
	for i := range p.runs {
		mix(r, &p.runs[i].root)
	}
	return p
}

// mix draws what makes the pods of a task and of everything below it.
func mix(r *rand.Rand, n *script.Node) {
	for i := range n.Children {
		mix(r, &n.Children[i])
	}
	if n.Kind != script.Task {
		return
	}
	switch where := r.IntN(8); {
	case where < len(script.Vias()):
		n.Via = script.Vias()[where]
	case where == 4 && n.Secret == "" && len(n.Children) == 0:
		n.Pool = script.FlatPool
	case where == 5 && n.Secret == "":
		n.Pool = script.NestedPool
	}
}
