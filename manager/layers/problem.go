package layers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	// Origin is where it is.
	Origin Origin
	// Key is the key by its full path; empty if the problem is not one of a key.
	Key string
	// Text says what is wrong and what to write instead.
	Text string
}

// String is the problem with its place, on one line.
func (p Problem) String() string {
	var parts []string
	if !p.Origin.IsDefault() {
		parts = append(parts, p.Origin.String())
	}
	if p.Key != "" && !strings.HasSuffix(p.Origin.Flag, " "+p.Key) {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

// Problems is an error with everything that is wrong with a configuration.
type Problems []Problem //nolint:errname // a list that callers add to and print; it is an error only when it is returned

// Error implements error: one problem on the same line, several on lines of their own.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].String()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d problems:", len(p))
	for _, problem := range p {
		text.WriteString("\n  " + problem.String())
	}
	return text.String()
}

// InOrder returns the problems with those of the file first, from its top to its end.
func (p Problems) InOrder() Problems {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		inFile := func(o Origin) int { return cmp.Compare(o.Line, 0) }
		return cmp.Or(-cmp.Compare(inFile(a.Origin), inFile(b.Origin)), cmp.Compare(a.Origin.Line, b.Origin.Line))
	})
	return sorted
}
