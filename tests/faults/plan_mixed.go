package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// newMixedPlan creates the plan of a seed over all plugins: the runs of newPlan, whose tasks run as pods, in reusable
// environments, as Jobs, as the objects of operators, and as jobs of a connector; and runs that are such a job each.
func newMixedPlan(seed uint64, kinds []string) plan {
	p := newPlan(seed, kinds)
	r := rand.New(rand.NewPCG(seed, 0x31f5))
	for i := range p.runs {
		mix(r, &p.runs[i].root)
	}
	g := &generator{Rand: r, seed: seed}
	for _, tenant := range script.Tenants() {
		root := g.plain()
		root.Name, root.Via = "a0", script.ViaConnector
		if r.IntN(2) == 0 {
			g.troubled(&root)
		}
		g.equip(&root)
		root = root.Of(tenant)
		p.runs = append(p.runs, plannedRun{
			name: fmt.Sprintf("s%d-job-%s", seed, tenant.Mark), after: time.Duration(r.IntN(2000)) * time.Millisecond,
			twice: r.IntN(2) == 0, root: root, rules: planRules(r, root),
		})
	}
	return p
}

// mix draws what runs a task and everything below it. Jobs of a connector have no token, so they have no children.
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
	case where == 6 && len(n.Children) == 0:
		n.Via = script.ViaConnector
	}
}
