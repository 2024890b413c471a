package placement

import (
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// refuses says what the policy of the cluster does not allow of the pods of a request; empty if it allows them.
func (c *Cluster) refuses(r *Request) string {
	if r.Refuses == nil {
		return ""
	}
	return r.Refuses(c.PodPolicy)
}

// judged is the request for one decision: each policy is asked once. If the policy of every cluster that could run it refuses its pods,
// they are not judged at all: then it fails where it runs, with the reason, and does not wait for a policy.
func (p *Policy) judged(r *Request, matching []*Seat) *Request {
	if r.Refuses == nil {
		return r
	}
	asked, said := *r, map[string]string{}
	asked.Refuses = func(policy string) string {
		words, known := said[policy]
		if !known {
			words = r.Refuses(policy)
			said[policy] = words
		}
		return words
	}
	if !slices.ContainsFunc(matching, func(s *Seat) bool { return p.unfit(s.Cluster, &asked) == "" }) {
		asked.Refuses = nil
	}
	return &asked
}

// refused adds to a choice why the policies of other clusters left them out.
func refused(choice Choice, r *Request, matching []*Seat) Choice {
	var why []string
	for _, s := range matching {
		if words := s.refuses(r); words != "" && s.Name != choice.Cluster {
			why = append(why, about(s.Name, disallows(words)))
		}
	}
	if len(why) > 0 {
		choice.Words = clauses(append([]string{choice.Words}, few(why)...)...)
	}
	return choice
}

// disallows is what is said of a cluster whose policy does not allow a pod.
func disallows(reason string) string {
	return sentence.Say("does not allow its pod: %s", shorten(reason))
}

// mostWords bounds what is shown of the reason of a policy.
const mostWords = 300

func shorten(words string) string {
	if len(words) <= mostWords {
		return words
	}
	return strings.ToValidUTF8(words[:mostWords], "") + "…"
}

// Candidates are the clusters that may ever run a request, whatever the policy of their pods.
func (p *Policy) Candidates(r *Request, clusters []Cluster) []Cluster {
	seats := make([]Seat, len(clusters))
	for i := range clusters {
		seats[i].Cluster = &clusters[i]
	}
	asked := *r
	asked.Accelerator, asked.Refuses = "", nil // an autoscaler may add a machine that has it
	var found []Cluster
	for _, s := range p.wish(r, seats).matching(seats) {
		if s.lacks(&asked) == "" {
			found = append(found, *s.Cluster)
		}
	}
	return found
}
