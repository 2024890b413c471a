package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// plan is derived from a seed: the runs of a storm, and the faults with their times. The seed does not control the
// timing inside the processes, so a replay has the same load and faults, but not the same interleaving.
type plan struct {
	seed   uint64
	runs   []plannedRun
	faults []fault

	triggers plannedTriggers
	visits   plannedVisits
	apps     []plannedApp
}

// plannedRun is one run.
type plannedRun struct {
	name  string
	after time.Duration // after the start of the storm
	twice bool          // created twice, at the same time
	where string        // the only cluster that may run it; empty for any
	root  script.Node   // it says whose run it is
	rules []check.Rule
}

// plan creates the plan of a seed.
func (o options) plan(seed uint64) plan {
	switch {
	case o.clusters && o.chosen == nil:
		return newClusterPlan(seed, clusterKinds())
	case o.clusters:
		return newClusterPlan(seed, o.chosen)
	case o.mixed && o.chosen == nil:
		return newMixedPlan(seed, mixedKinds())
	case o.mixed:
		return newMixedPlan(seed, o.chosen)
	case o.pools && o.chosen == nil:
		return newPoolPlan(seed, poolKinds())
	case o.pools:
		return newPoolPlan(seed, o.chosen)
	case o.chosen == nil:
		return newPlan(seed, allKinds())
	default:
		return newPlan(seed, o.chosen)
	}
}

// newPlan creates the plan of a seed.
func newPlan(seed uint64, kinds []string) plan {
	r := rand.New(rand.NewPCG(seed, 0x5707))
	p := plan{seed: seed}
	g := &generator{Rand: r, seed: seed}
	tenants, whose := script.Tenants(), rand.New(rand.NewPCG(seed, 0x7e2a))
	size := 40 + r.IntN(50)
	for size > 0 {
		tenant := tenants[whose.IntN(len(tenants))]
		if len(p.runs) < len(tenants) {
			tenant = tenants[len(p.runs)] // each has a run
		}
		root := g.run().Of(tenant)
		size -= len(root.All())
		p.runs = append(p.runs, plannedRun{
			name: fmt.Sprintf("s%d-%d-%s", seed, len(p.runs), tenant.Mark), after: time.Duration(r.IntN(2000)) * time.Millisecond,
			twice: r.IntN(3) == 0, root: root, rules: planRules(r, root),
		})
	}
	p.triggers = planTriggers(r, seed)
	p.triggers.node.Tenant = tenants[whose.IntN(len(tenants))]
	p.faults = newFaults(r, kinds)
	p.visits = planVisits(whose)
	return p
}

// actions counts those that the scripts name.
func (p plan) actions() int {
	n := 0
	for _, run := range p.runs {
		n += len(run.root.All())
	}
	return n
}

// generator draws random scripts.
type generator struct {
	*rand.Rand
	seed  uint64
	count int
}

func (g *generator) name() string {
	g.count++
	return fmt.Sprintf("n%d", g.count)
}

// run generates a run in one of the shapes that real workloads have.
func (g *generator) run() script.Node {
	g.count = 0
	root := script.Node{Name: "a0", Kind: script.Task, Twice: g.IntN(4) == 0}
	switch g.IntN(7) {
	case 0, 1: // a fan-out
		for range 5 + g.IntN(14) {
			root.Children = append(root.Children, g.leaf())
		}
	case 2: // a chain
		root.Chain = true
		for range 3 + g.IntN(5) {
			root.Children = append(root.Children, g.leaf())
		}
	case 3: // a tree
		for range 2 + g.IntN(2) {
			root.Children = append(root.Children, g.tree(2))
		}
	case 4: // conditions
		for range 1 + g.IntN(4) {
			root.Children = append(root.Children, g.condition(), g.leaf())
		}
	case 5: // aborts
		if g.IntN(2) == 0 {
			root.AbortMillis = 200 + g.IntN(3000)
		}
		for range 2 + g.IntN(3) {
			child := g.tree(1)
			if g.IntN(2) == 0 {
				child.AbortMillis = 1 + g.IntN(1500)
				child.Millis += 500
			}
			root.Children = append(root.Children, child)
		}
		root.Leave = g.IntN(4) == 0
	default: // the same work repeatedly, for the cache
		serialized := g.IntN(2) == 0
		version := fmt.Sprintf("v%d-%d-%t", g.seed, g.IntN(2), serialized)
		for range 3 + g.IntN(6) {
			child := g.plain()
			child.Millis, child.Cache, child.Serialized = 50, version, serialized
			root.Children = append(root.Children, child)
		}
	}
	if g.IntN(5) == 0 {
		g.troubled(&root)
	}
	return root
}

func (g *generator) plain() script.Node {
	return script.Node{Name: g.name(), Kind: script.Task, Millis: g.IntN(600)}
}

// leaf is an action without children, mostly one that succeeds.
func (g *generator) leaf() script.Node {
	n := g.plain()
	switch g.IntN(14) {
	case 0, 1, 2:
		g.troubled(&n)
	case 3:
		n.Fatal = true
	case 4:
		n.Kind = script.Trace
	case 5, 6:
		n.Kind = script.Sleep
	case 7: // it takes too long
		n.Millis = 100_000
		if g.IntN(2) == 0 {
			n.Timeout = 1000
		} else {
			n.Deadline = 2000
		}
	}
	if n.Kind == script.Task {
		g.equip(&n)
	}
	return n
}

// equip lets a task ask for a secret, or declare its output as an artifact.
func (g *generator) equip(n *script.Node) {
	switch g.IntN(8) {
	case 0, 1:
		n.Secret = script.Secrets()[g.IntN(len(script.Secrets()))]
	case 5:
		n.Reads = true
	case 2, 3:
		n.Artifact = fmt.Sprintf("made-%d-%d", g.seed, g.IntN(2))
	case 4:
		if n.Timeout == 0 && n.Deadline == 0 && n.Retries == 0 && g.IntN(3) == 0 {
			n.Secret = script.AbsentSecret
		}
	}
}

// forEver is the number of failures of a task that never succeeds.
const forEver = 1000

// troubled makes an action fail by itself, forever or before it succeeds.
func (g *generator) troubled(n *script.Node) {
	n.Retries = 1 + g.IntN(2)
	n.Failures = 1 + g.IntN(n.Retries)
	if g.IntN(5) == 0 {
		n.Failures = forEver // Some of its attempts may be lost by the system instead.
	}
}

func (g *generator) tree(depth int) script.Node {
	n := g.plain()
	if depth == 0 {
		return n
	}
	n.Twice = g.IntN(4) == 0
	for range 2 + g.IntN(2) {
		if g.IntN(3) == 0 {
			n.Children = append(n.Children, g.leaf())
		} else {
			n.Children = append(n.Children, g.tree(depth-1))
		}
	}
	if g.IntN(4) == 0 {
		g.troubled(&n)
	}
	return n
}

func (g *generator) condition() script.Node {
	answers := []string{script.AnswerSignal, script.AnswerSignal, script.AnswerAbort, script.AnswerTimeout}
	return script.Node{Name: g.name(), Kind: script.Condition, Answer: answers[g.IntN(len(answers))]}
}
