package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// The kinds of faults of the network between the clusters and the API, and of controllers.
const (
	kindLineCut          = "line-cut"             // its connections are reset once
	kindLineAway         = "line-away"            // no connection is possible
	kindLineFrozen       = "line-half-open"       // its connections stay, and nothing passes on them
	kindLineSlow         = "line-slow"            // everything is late
	kindLineDeaf         = "line-answers-held"    // requests pass, answers do not
	kindLineMute         = "line-requests-held"   // answers pass, requests do not
	kindLineForgets      = "line-answers-lost"    // requests are heard, and their callers repeat them
	kindControllerKill   = "controller-kill"      // and it is down for a while
	kindControllerFreeze = "controller-frozen"    // and continues as if nothing had happened
	kindReclaimPoint     = "server-dies-at-batch" // of attempts that are taken back from a cluster that is lost
)

// lossPoint is where a server dies for kindReclaimPoint.
const lossPoint = "reclaim.after-batch"

// lineKinds are those that strike one of two clusters, by the number of the fault.
func lineKinds() []string {
	return []string{
		kindLineCut, kindLineAway, kindLineAway, kindLineFrozen, kindLineSlow, kindLineDeaf, kindLineDeaf, kindLineMute, kindLineForgets,
		kindLineForgets, kindControllerKill, kindControllerKill, kindControllerFreeze, kindControllerFreeze,
	}
}

// clusterKinds are those of a storm over two clusters.
func clusterKinds() []string {
	return append(lineKinds(), []string{
		kindReclaimPoint, kindWorkers, kindWorkers, kindWorkersFreeze, kindOperators,
		kindKill, kindStop, kindReplicaKill, kindPoint, kindPoint, kindPostgresFast, kindPostgresCrash, kindPostgresCut, kindAPIKill, kindPods,
		kindNode, kindHang, kindClock,
	}...)
}

// awayFor is longer than a cluster may be away before it is lost in a storm.
const awayFor = 17 * time.Second

// newClusterPlan creates the plan of a seed over two clusters: the runs of newPlan, some of whose tasks run in reusable environments, as
// Jobs, and as the objects of operators. Half of the faults of a cluster last until it is lost, the others shorter.
func newClusterPlan(seed uint64, kinds []string) plan {
	p := newPlan(seed, kinds)
	r := rand.New(rand.NewPCG(seed, 0xc105))
	for i := range p.faults {
		one := &p.faults[i]
		switch one.kind {
		case kindLineAway, kindLineFrozen, kindLineDeaf, kindLineMute, kindLineForgets, kindControllerKill, kindControllerFreeze:
			if r.IntN(2) == 0 {
				one.length += awayFor
			}
		case kindReclaimPoint:
			one.point, one.turn, one.at = lossPoint, 1+r.IntN(2), 0
			p.faults = append(p.faults, fault{kind: kindLineAway, at: time.Second, length: awayFor, number: 1 + r.IntN(2)})
		}
	}
	slices.SortStableFunc(p.faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	for i := range p.runs { // some of them begin late, when clusters are away, or last until these are lost and back
		lengthen(r, &p.runs[i].root)
		disperse(r, &p.runs[i].root)
		if r.IntN(3) == 0 {
			p.runs[i].after += time.Duration(r.IntN(10)) * time.Second
		}
	}
	p.runs = append(p.runs, returns(p)...)
	p.apps = planApps(seed)
	return p
}

// returns are runs for the moment at which a cluster that was lost is back: some whose pods are still there and take their time to end,
// and some that wait for this cluster alone, so that it has new work at once. None if no cluster is lost.
func returns(p plan) (runs []plannedRun) {
	lost := slices.IndexFunc(p.faults, func(f fault) bool { return isOfLine(f) && f.length >= awayFor })
	if lost < 0 {
		return nil
	}
	struck, back := p.faults[lost], time.Duration(0)
	for _, f := range p.faults { // others may strike the same cluster, and last longer
		if isOfLine(f) && f.side() == struck.side() {
			back = max(back, f.at+f.length)
		}
	}
	tenants := script.Tenants()
	for i := range 8 {
		one := plannedRun{
			name: fmt.Sprintf("s%d-old-%d", p.seed, i),
			root: script.Node{Name: "a0", Kind: script.Task, Stubborn: true, Millis: int((back + 5*time.Second).Milliseconds())},
		}
		if i >= 5 {
			one.name, one.after, one.where = fmt.Sprintf("s%d-new-%d", p.seed, i), back-time.Second, struck.side()
			one.root.Stubborn, one.root.Millis = false, 500
		}
		one.root = one.root.Of(tenants[i%len(tenants)])
		runs = append(runs, one)
	}
	return runs
}

// lengthen has one task in eight run for longer than a cluster may be away.
func lengthen(r *rand.Rand, n *script.Node) {
	for i := range n.Children {
		lengthen(r, &n.Children[i])
	}
	if n.Kind == script.Task && n.Timeout == 0 && n.Deadline == 0 && n.AbortMillis == 0 && n.Cache == "" && r.IntN(8) == 0 {
		n.Millis = 4000 + r.IntN(12000)
	}
}

// disperse draws what runs a task and everything below it: mostly a pod.
func disperse(r *rand.Rand, n *script.Node) {
	for i := range n.Children {
		disperse(r, &n.Children[i])
	}
	where := r.IntN(12)
	switch {
	case n.Kind != script.Task:
	case where < len(script.Vias()):
		n.Via = script.Vias()[where]
	case n.Secret != "":
	case where < 6 && len(n.Children) == 0:
		n.Pool = script.FlatPool
	case where < 7:
		n.Pool = script.NestedPool
	}
}

// sideOf is the cluster that a fault strikes.
func sideOf(f fault) int { return f.number % 2 }

// whose names the cluster of a fault.
func (f fault) whose() string {
	if !slices.Contains(lineKinds(), f.kind) {
		return ""
	}
	return " of " + f.side()
}

// side names the cluster that a fault of a line strikes.
func (f fault) side() string { return []string{stack.East, stack.West}[sideOf(f)] }
