package placement

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// between separates clauses. The console knows each clause by its words.
const between = "; "

// Clauses are those of the words of a choice.
func (c *Choice) Clauses() []string { return strings.Split(c.Words, between) }

func clauses(all ...string) string { return strings.Join(all, between) }

// because puts who asks for certain clusters before the reason.
func because(wish wish, reasons ...string) string {
	if wish.from == "" {
		return clauses(reasons...)
	}
	return clauses(append([]string{wish.from}, reasons...)...)
}

// about says something of a cluster, as in "cluster west is away".
func about(cluster, words string) string { return sentence.Say("cluster %s %s", cluster, words) }

// mostNamed bounds the texts of installations with many clusters.
const mostNamed = 5

// few are what is said of the first clusters.
func few(all []string) []string {
	if more := len(all) - mostNamed; more > 0 {
		return append(all[:mostNamed:mostNamed], sentence.Say("others that do not take it: %d", more))
	}
	return all
}

// unknown says that no cluster is as wished.
func (w wish) unknown() string {
	switch {
	case w.named():
		return sentence.Say("no cluster of pool %s is known", w.pool)
	case len(w.where) > 0:
		return sentence.Say("no cluster with %s is known", w.labels())
	}
	return sentence.Say("no cluster is known")
}

// untaken says that no cluster that is as wished takes the action.
func (w wish) untaken() string {
	switch {
	case w.named():
		return sentence.Say("no cluster of pool %s takes it", w.pool)
	case len(w.where) > 0:
		return sentence.Say("no cluster with %s takes it", w.labels())
	}
	return sentence.Say("no cluster takes it")
}

// unoffered says what no cluster that is as wished has.
func (w wish) unoffered(what string) string {
	switch {
	case w.cluster != "":
		return about(w.cluster, sentence.Say("does not offer %s", what))
	case w.named():
		return sentence.Say("no cluster of pool %s offers %s", w.pool, what)
	case len(w.where) > 0:
		return sentence.Say("no cluster with %s offers %s", w.labels(), what)
	}
	return sentence.Say("no cluster offers %s", what)
}

// named reports whether a pool is wished by its name.
func (w wish) named() bool { return w.pool != "" && w.pool != anyPool }

func (w wish) labels() string { return strings.Join(w.where, " and ") }
