package query

import (
	"strings"
	"unicode/utf8"
)

// Parse parses a query. An error is a *Problem. An empty query is a conjunction of nothing.
func Parse(query string) (*Node, error) {
	if !utf8.ValidString(query) || strings.ContainsRune(query, 0) {
		return nil, problem(1, "", "A query must be UTF-8 text without NUL.")
	}
	if n := utf8.RuneCountInString(query); n > MaxLength {
		return nil, problem(MaxLength, "", "A query may have %d characters; this has %d.", MaxLength, n)
	}
	words, err := scan(query)
	if err != nil {
		return nil, err
	}
	p := &parser{words: words, end: utf8.RuneCountInString(query) + 1}
	node := &Node{Kind: And}
	if len(words) > 0 {
		if node, err = p.alternatives(0); err != nil {
			return nil, err
		}
		if w := p.peek(); w != nil {
			return nil, problem(w.at, w.raw, "There is no ( that this closes.")
		}
	}
	return node, checkInputs(node)
}

type parser struct {
	words []word
	end   int // the position after the query
	terms int
}

func (p *parser) peek() *word {
	if len(p.words) == 0 {
		return nil
	}
	return &p.words[0]
}

func (p *parser) next() *word {
	w := &p.words[0]
	p.words = p.words[1:]
	return w
}

// alternatives parses what is joined by or.
func (p *parser) alternatives(depth int) (*Node, error) {
	var nodes []*Node
	for {
		node, err := p.conjunction(depth)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
		if w := p.peek(); w == nil || !w.is("or") {
			return joined(Or, nodes), nil
		}
		p.next()
	}
}

// conjunction parses what stands side by side or is joined by and.
func (p *parser) conjunction(depth int) (*Node, error) {
	var nodes []*Node
	for {
		node, err := p.negation(depth)
		if err != nil {
			return nil, err
		}
		if node.Kind == And {
			nodes = append(nodes, node.Nodes...)
		} else {
			nodes = append(nodes, node)
		}
		w := p.peek()
		if w == nil || w.is("or") || w.mark == ')' {
			return joined(And, nodes), nil
		}
		if w.is("and") {
			p.next()
		}
	}
}

func joined(kind Kind, nodes []*Node) *Node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return &Node{Kind: kind, Nodes: nodes}
}

// negation parses a word or a group, and what negates it.
func (p *parser) negation(depth int) (*Node, error) {
	w := p.peek()
	if w == nil {
		return nil, problem(p.end, "", "Something is missing at the end.")
	}
	switch {
	case w.mark == '-' || w.is("not"):
		if depth == maxDepth {
			return nil, problem(w.at, w.raw, "At most %d levels are allowed.", maxDepth)
		}
		p.next()
		node, err := p.negation(depth + 1)
		if err != nil {
			return nil, err
		}
		return &Node{Kind: Not, Nodes: []*Node{node}}, nil
	case w.mark == '(':
		if depth == maxDepth {
			return nil, problem(w.at, w.raw, "At most %d levels are allowed.", maxDepth)
		}
		p.next()
		node, err := p.alternatives(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.peek() == nil {
			return nil, problem(w.at, w.raw, "The ) that closes this is missing.")
		}
		p.next()
		return node, nil
	case w.mark == ')' || w.is("and") || w.is("or"):
		return nil, problem(w.at, w.raw, "Something is missing before this. Put quotation marks around a word that is meant itself.")
	}
	p.next()
	if p.terms++; p.terms > maxTerms {
		return nil, problem(w.at, w.raw, "A query may have %d conditions.", maxTerms)
	}
	return leaf(w)
}

// checkInputs refuses conditions on inputs that cannot be looked at after all others.
func checkInputs(node *Node) error {
	for _, part := range node.All() {
		if part.Kind == Not && part.Nodes[0].Kind == Leaf {
			continue
		}
		if term := part.input(); part.Kind != Leaf && term != nil {
			return problem(term.At, term.Word, "A condition on an input cannot be within or or parentheses.")
		}
	}
	return nil
}

// input is the first condition on an input.
func (n *Node) input() *Term {
	if n.Kind == Leaf && n.Term.Key == Input {
		return n.Term
	}
	for _, node := range n.Nodes {
		if term := node.input(); term != nil {
			return term
		}
	}
	return nil
}
