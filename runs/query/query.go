// Package query is the language in which people ask for runs, such as
//
//	phase:failed error:KeyError duration>5m -label:team=ml or owner:me
//
// docs/queries.md describes it. The console has the same parser in TypeScript; testdata/cases.json is what both agree on.
// It knows nothing of the database: runs/store/queries makes SQL of what is parsed here.
package query

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a query.
const (
	MaxLength = 1000 // characters
	maxTerms  = 30
	maxDepth  = 8 // of parentheses
)

// Key is what a term is about.
type Key string

// The keys. Text is that of words without a key.
const (
	Text     Key = "text"
	Name     Key = "name"
	Task     Key = "task"
	Version  Key = "version"
	Phase    Key = "phase"
	Source   Key = "source"
	Trigger  Key = "trigger"
	Error    Key = "error"
	Owner    Key = "owner"
	Label    Key = "label"
	Cluster  Key = "cluster"
	Queue    Key = "queue"
	Is       Key = "is"
	Created  Key = "created"
	Started  Key = "started"
	Ended    Key = "ended"
	Updated  Key = "updated"
	Duration Key = "duration"
	Input    Key = "input"
)

// Op is how a term compares.
type Op string

// The comparisons. Has is a part of a text; Exists takes any value.
const (
	Has            Op = ":"
	Equal          Op = "="
	Less           Op = "<"
	LessOrEqual    Op = "<="
	Greater        Op = ">"
	GreaterOrEqual Op = ">="
	Exists         Op = "?"
)

// Me is the owner that means the caller.
const Me = "me"

// The values of is.
const (
	IsPaused = "paused"
	IsActive = "active"
	IsEnded  = "ended"
)

// Term is one condition.
type Term struct {
	Key Key
	Op  Op
	// Name is that of a label or an input.
	Name string
	// Text is the value, as far as the fields below do not have it.
	Text string
	// Values are the alternatives of keys that take several.
	Values []string
	// Length is the value of duration.
	Length time.Duration
	// Moment is the value of times.
	Moment Moment
	// At is the position of the word in the query, from 1, in characters; Word is the word as typed.
	At   int
	Word string
}

// Moment is a time, or a time before now.
type Moment struct {
	At  time.Time     // zero for one before now
	Ago time.Duration // before now
}

// In is the moment, seen from now.
func (m Moment) In(now time.Time) time.Time {
	if m.At.IsZero() {
		return now.Add(-m.Ago)
	}
	return m.At
}

func (m Moment) String() string {
	if m.At.IsZero() {
		return "ago(" + seconds(m.Ago) + ")"
	}
	return m.At.UTC().Format(time.RFC3339)
}

// Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Leaf Kind = iota // a term
	And              // all of Nodes; of none it holds
	Or               // one of Nodes
	Not              // not the one of Nodes
)

// Node is a query or a part of one.
type Node struct {
	Kind  Kind
	Term  *Term
	Nodes []*Node
}

// All are the parts that must all hold: those of a conjunction, or the node itself.
func (n *Node) All() []*Node {
	if n.Kind == And {
		return n.Nodes
	}
	return []*Node{n}
}

// Mentions reports whether a term of the query is about a key.
func (n *Node) Mentions(key Key) bool {
	if n.Kind == Leaf {
		return n.Term.Key == key
	}
	return slices.ContainsFunc(n.Nodes, func(part *Node) bool { return part.Mentions(key) })
}

// String is the query in the form of testdata/cases.json.
func (n *Node) String() string {
	if n.Kind == Leaf {
		return n.Term.String()
	}
	parts := []string{map[Kind]string{And: "and", Or: "or", Not: "not"}[n.Kind]}
	for _, node := range n.Nodes {
		parts = append(parts, node.String())
	}
	return "(" + strings.Join(parts, " ") + ")"
}

func (t *Term) String() string {
	text := string(t.Key)
	if t.Name != "" {
		text += "[" + t.Name + "]"
	}
	text += string(t.Op)
	switch {
	case t.Op == Exists:
		return text
	case t.Key == Duration:
		return text + seconds(t.Length)
	case isTime(t.Key):
		return text + t.Moment.String()
	case t.Values != nil:
		return text + strings.Join(t.Values, ",")
	}
	return text + t.Text
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
