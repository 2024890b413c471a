package find

import (
	"context"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/runs/inputpreview"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
)

const (
	maxInputs  = 500 // runs of which an answer reads the inputs
	inputsPage = 100 // runs whose inputs are read before it is known whether they suffice
	inputReads = 16  // inputs that are read at the same time
)

// wanted is a condition on an input, and whether it must not hold.
type wanted struct {
	term *query.Term
	not  bool
}

// inputTerms are the conditions on inputs. The parser has them only where all must hold.
func inputTerms(node *query.Node) (terms []wanted) {
	for _, part := range node.All() {
		not := part.Kind == query.Not
		if not {
			part = part.Nodes[0]
		}
		if part.Kind == query.Leaf && part.Term.Key == query.Input {
			terms = append(terms, wanted{term: part.Term, not: not})
		}
	}
	return terms
}

// find answers a query. Inputs are in the object store: those of the runs that match otherwise are read, up to maxInputs.
func (s Source) find(ctx context.Context, ask queries.Ask) (*queries.Page, error) {
	terms := inputTerms(ask.Query)
	if len(terms) == 0 {
		return s.Find(ctx, ask)
	}
	limit := int(ask.Limit)
	ask.Limit = inputsPage
	if ask.Sorted() {
		ask.Limit = maxInputs // each page would sort them all
	}
	out := &queries.Page{}
	for looked := 0; ; {
		page, err := s.Find(ctx, ask)
		if err != nil {
			return nil, err
		}
		hits, err := s.match(ctx, page.Runs, terms)
		if err != nil {
			return nil, err
		}
		for i, hit := range hits {
			if hit {
				out.Runs = append(out.Runs, page.Runs[i])
			}
			if last := i == len(hits)-1 && page.Token == ""; len(out.Runs) == limit && !last {
				out.Token = page.Runs[i].After
				return out, nil
			}
		}
		out.Token, out.Until, out.Bounded = page.Token, page.Until, page.Bounded
		if looked += len(page.Runs); page.Token == "" || !page.Until.IsZero() {
			return out, nil
		}
		if looked >= maxInputs {
			out.Until = page.Runs[len(page.Runs)-1].CreatedAt
			return out, nil
		}
		ask.Token = page.Token
	}
}

// match reports which runs have the inputs.
func (s Source) match(ctx context.Context, runs []queries.Found, terms []wanted) ([]bool, error) {
	hits := make([]bool, len(runs))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(inputReads)
	for i := range runs {
		reads.Go(func() error {
			preview, err := s.Read(ctx, runs[i].ID, runs[i].InputURI)
			if err != nil {
				return err
			}
			hits[i] = matches(preview, terms)
			return nil
		})
	}
	return hits, reads.Wait()
}

func matches(preview inputpreview.Preview, terms []wanted) bool {
	for _, wanted := range terms {
		if has(preview, wanted.term) == wanted.not {
			return false
		}
	}
	return true
}

// has reports whether an input compares so. Numbers compare as numbers; other values can only be equal.
func has(preview inputpreview.Preview, term *query.Term) bool {
	for _, input := range preview.Inputs {
		if input.GetName() != term.Name {
			continue
		}
		if term.Op == query.Equal {
			return input.GetValue() == term.Text
		}
		a, err := strconv.ParseFloat(input.GetValue(), 64)
		b, err2 := strconv.ParseFloat(term.Text, 64)
		if err != nil || err2 != nil {
			return false
		}
		switch term.Op {
		case query.Less:
			return a < b
		case query.LessOrEqual:
			return a <= b
		case query.Greater:
			return a > b
		default:
			return a >= b
		}
	}
	return false
}
