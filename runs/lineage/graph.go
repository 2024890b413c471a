package lineage

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// Action is an action in the graph.
type Action struct {
	// ID grows in the order in which the actions were recorded.
	ID      int64
	Name    string
	Created time.Time
	Ended   time.Time // zero while it has not ended
}

// Edge says that one action produced an input of another.
type Edge struct {
	From, To, Variable string
}

const (
	// skew is the largest assumed difference between the clocks of reporters.
	skew = 5 * time.Second
	// MaxEdges bounds a graph.
	MaxEdges = 10_000
)

// Graph collects the inputs and outputs of actions as keys. It does not keep literals.
type Graph struct {
	read  reader
	nodes []*node
	made  map[key][]*node
}

type node struct {
	Action
	inputs []input
	takes  map[key]bool
}

type input struct {
	variable string
	keys     []key
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{read: reader{seed: maphash.MakeSeed()}, made: map[key][]*node{}}
}

// Add adds an action with its inputs and outputs, in any order. Outputs that are also inputs do not count as
// produced.
func (g *Graph) Add(a Action, inputs, outputs []*task.NamedLiteral) {
	n := &node{Action: a, takes: map[key]bool{}}
	g.nodes = append(g.nodes, n)
	for _, literal := range inputs {
		in := input{variable: literal.GetName(), keys: g.read.keys(nil, literal.GetValue(), 0)}
		for _, k := range in.keys {
			n.takes[k] = true
		}
		if len(in.keys) > 0 {
			n.inputs = append(n.inputs, in)
		}
	}
	for _, literal := range outputs {
		for _, k := range g.read.keys(nil, literal.GetValue(), 0) {
			if made := g.made[k]; !n.takes[k] && (len(made) == 0 || made[len(made)-1] != n) {
				g.made[k] = append(made, n)
			}
		}
	}
}

// Edges returns the edges, ordered by consumer, and whether there are more than MaxEdges. If several actions produced
// the same value, the producer is the one that ended last before the consumer was created.
func (g *Graph) Edges() (edges []Edge, more bool) {
	slices.SortFunc(g.nodes, func(a, b *node) int { return cmp.Compare(a.ID, b.ID) })
	for _, to := range g.nodes {
		seen := map[Edge]bool{}
		for _, in := range to.inputs {
			for _, k := range in.keys {
				from := maker(g.made[k], to)
				if from == nil {
					continue
				}
				edge := Edge{From: from.Name, To: to.Name, Variable: in.variable}
				if seen[edge] {
					continue
				}
				if len(edges) == MaxEdges {
					return edges, true
				}
				seen[edge] = true
				edges = append(edges, edge)
			}
		}
	}
	return edges, false
}

func maker(made []*node, to *node) *node {
	var last *node
	for _, from := range made {
		possible := from.ID < to.ID && !from.Ended.IsZero() && !from.Ended.After(to.Created.Add(skew))
		if possible && (last == nil || from.Ended.After(last.Ended)) {
			last = from
		}
	}
	return last
}
