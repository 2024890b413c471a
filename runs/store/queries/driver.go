package queries

import (
	"slices"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// driver says which rows a query must look at: those of an index that has the rows of one of its conditions in the order of
// their creation. All other conditions are compared row by row.
type driver struct {
	ask *Ask
	// terms are conditions that the index has.
	terms []*query.Term
	// implied is what the index takes besides, as SQL.
	implied string
	// phases are those to look at one by one: an index has the order of each phase.
	phases []int16
	// errors is whether each of these rows has an error to be searched.
	errors bool
}

// driverOf chooses the condition that probably leaves the fewest rows. Bounds of the creation always narrow what is looked at.
// In the order of an index on updates only those remain.
func driverOf(ask *Ask, byCreation bool) driver {
	d := driver{ask: ask}
	best, rank, searched := (*query.Term)(nil), 0, false
	for _, part := range ask.Query.All() {
		if part.Kind != query.Leaf {
			continue
		}
		searched = searched || part.Term.Key == query.Error
		if part.Term.Key == query.Created {
			d.terms = append(d.terms, part.Term)
		} else if r := rankOf(part.Term); byCreation && r > rank {
			best, rank = part.Term, r
		}
	}
	if best == nil {
		return d
	}
	switch best.Key {
	case query.Phase:
		d.phases = phasesOf(best)
		d.errors = searched
		if !slices.ContainsFunc(d.phases, state.Terminal) {
			d.phases, d.terms, d.implied = nil, append(d.terms, best), "a.ended_at IS NULL"
		}
	case query.Error:
		d.phases, d.errors = []int16{state.Failed, state.TimedOut}, true
	case query.Cluster:
		d.terms, d.implied = append(d.terms, best), "a.cluster <> '' AND a.cluster <> '"+ident.DefaultCluster+"'"
	default:
		d.terms = append(d.terms, best)
	}
	return d
}

// endsCreation reports whether a query leaves out all runs that were created after a time.
func endsCreation(node *query.Node) bool {
	return slices.ContainsFunc(node.All(), func(part *query.Node) bool {
		return part.Kind == query.Leaf && part.Term.Key == query.Created && (part.Term.Op == query.Less || part.Term.Op == query.LessOrEqual)
	})
}

// rankOf is greater for a condition that leaves fewer rows; 0 for one without an index.
func rankOf(term *query.Term) int {
	one := len(term.Values) == 1
	switch {
	case term.Key == query.Name && term.Op == query.Equal:
		return 9
	case term.Key == query.Is && one && term.Values[0] == query.IsPaused:
		return 8
	case term.Key == query.Is && one && term.Values[0] == query.IsActive:
		return 7
	case term.Key == query.Phase && !slices.ContainsFunc(phasesOf(term), state.Terminal):
		return 6
	case term.Key == query.Cluster && one && term.Values[0] != ident.DefaultCluster:
		return 5
	case term.Key == query.Version && one:
		return 4
	case term.Key == query.Task && term.Op == query.Equal:
		return 3
	case term.Key == query.Phase && !slices.Contains(phasesOf(term), state.Succeeded), term.Key == query.Error:
		return 2
	case term.Key == query.Owner && one:
		return 1
	}
	return 0
}

// conditions are those of the index.
func (d driver) conditions(b *listquery.Builder) (conditions []string) {
	for _, term := range d.terms {
		conditions = append(conditions, d.condition(b, term))
	}
	if d.implied != "" {
		conditions = append(conditions, d.implied)
	}
	return conditions
}

// condition is that of a term, as the index has it.
func (d driver) condition(b *listquery.Builder, term *query.Term) string {
	switch term.Key {
	case query.Owner, query.Cluster, query.Version:
		return columns[term.Key] + " = " + b.Arg(ownersOf(term, d.ask)[0], "text")
	default:
		return termCondition(b, term, d.ask)
	}
}

// labelsOf are the labels that runs must have.
func labelsOf(node *query.Node) (terms []*query.Term) {
	for _, part := range node.All() {
		if part.Kind == query.Leaf && part.Term.Key == query.Label {
			terms = append(terms, part.Term)
		}
	}
	return terms
}
