package placement

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Choice is where an action runs, or what it waits for.
type Choice struct {
	// Cluster runs it; empty if it waits.
	Cluster string
	// Words say why it runs there, or what it waits for and in which clusters: one or more clauses, see Clauses.
	Words string
	// Resource is what it waits for in all clusters that could hold it; empty for anything else.
	Resource string
	// Beyond says that the cluster has no room for it yet.
	Beyond bool
}

// Choose decides about one action. Clusters that are closed, or cannot run the task, are never chosen. Of those with room, it is
// the cluster of the parent, else the one with the largest free share, times its weight. When none has room, a cluster gets a few
// actions that wait there, and all others wait for whichever cluster has room first.
func (p *Policy) Choose(r *Request, seats []Seat) Choice {
	wish := p.wish(r, seats)
	matching := wish.matching(seats)
	if len(matching) == 0 {
		if far := p.far(&Cluster{Name: wish.cluster}, r); wish.cluster != "" && far != "" {
			return Choice{Words: about(wish.cluster, sentence.Say("cannot reach %s", far))}
		}
		if wish.cluster != "" {
			return Choice{Cluster: wish.cluster, Words: because(wish, absent(seats))}
		}
		return Choice{Words: wish.unknown()}
	}
	if wish.cluster != "" && matching[0].Unseen && matching[0].Closed == "" && p.far(matching[0].Cluster, r) == "" {
		return Choice{Cluster: wish.cluster, Words: because(wish, sentence.Say("it has not connected yet"))}
	}
	r = p.judged(r, matching)
	able := p.openFor(r, matching)
	if elsewhere := slices.DeleteFunc(slices.Clone(able), func(s *Seat) bool { return s.Name == r.Avoid }); len(elsewhere) > 0 {
		able = elsewhere
	}
	switch {
	case len(able) == 0:
		return Choice{Words: p.unable(r, wish, matching)}
	case r.Group != "":
		s := together(r.Group, able)
		return Choice{Cluster: s.Name, Words: because(wish, sentence.Say("the workers of its environment are there"))}
	}
	if large := holding(r, able); len(large) > 0 {
		able = large
	}
	if room := withRoom(r, able); len(room) > 0 {
		return refused(p.choose(r, wish, matching, room), r, matching)
	}
	return refused(p.crowded(r, wish, able), r, matching)
}

// absent says why nothing begins in a cluster that has no seat. Before any has connected, nothing is known of the others.
func absent(seats []Seat) string {
	if len(seats) == 0 {
		return sentence.Say("it has not connected yet")
	}
	return sentence.Say("no cluster of this name is registered")
}

func (p *Policy) openFor(r *Request, of []*Seat) (able []*Seat) {
	for _, s := range of {
		if s.Closed == "" && !s.Unseen && p.unfit(s.Cluster, r) == "" {
			able = append(able, s)
		}
	}
	return able
}

func holding(r *Request, of []*Seat) (large []*Seat) {
	for _, s := range of {
		if s.holds(r) {
			large = append(large, s)
		}
	}
	return large
}

func withRoom(r *Request, of []*Seat) (room []*Seat) {
	for _, s := range of {
		if s.short(r) == "" {
			room = append(room, s)
		}
	}
	return room
}

// choose takes one of the clusters that have room.
func (p *Policy) choose(r *Request, wish wish, matching, room []*Seat) Choice {
	of, best := len(matching), room[0]
	for _, s := range room {
		if s.Name == r.Parent && !p.config.Spread {
			return Choice{Cluster: s.Name, Words: because(wish, sentence.Say("its parent runs there"))}
		}
		if s.before(best, r) {
			best = s
		}
	}
	if of == 1 && wish.from != "" {
		return Choice{Cluster: best.Name, Words: wish.from}
	}
	took := []string{sentence.Say("%d of %d clusters could take it", len(room), of)}
	if of == 1 {
		took = []string{sentence.Say("no other cluster takes work that does not name it")}
	}
	if far := p.farFromSome(matching, r); far != "" {
		took = append(took, sentence.Say("its data is in %s", far))
	}
	if _, resource := best.share(r); len(room) > 1 && resource != "" {
		most := sentence.Say("%s had the most free %s", best.Name, resource)
		if weighted(room) {
			most = sentence.Say("%s had the most free %s by weight", best.Name, resource)
		}
		took = append(took, most)
	}
	return Choice{Cluster: best.Name, Words: because(wish, took...)}
}

// before orders clusters by their free share and weight, then by how little they got since they reported.
func (s *Seat) before(other *Seat, r *Request) bool {
	mine, _ := s.share(r)
	theirs, _ := other.share(r)
	mine, theirs = mine*s.weight(), theirs*other.weight()
	if mine != theirs {
		return mine > theirs
	}
	if mine, theirs := float64(s.Count)/s.weight(), float64(other.Count)/other.weight(); mine != theirs {
		return mine < theirs
	}
	return s.Name < other.Name
}

func weighted(of []*Seat) bool {
	for _, s := range of {
		if s.weight() != of[0].weight() {
			return true
		}
	}
	return false
}

// crowded decides when no cluster has room. A single cluster queues by itself, so nothing is gained by waiting here.
func (p *Policy) crowded(r *Request, wish wish, able []*Seat) Choice {
	best := able[0]
	for _, s := range able {
		if s.Beyond < best.Beyond || s.Beyond == best.Beyond && s.before(best, r) {
			best = s
		}
	}
	resource := best.short(r)
	if len(able) == 1 {
		return Choice{Cluster: best.Name, Beyond: true, Words: because(wish, sentence.Say("no other cluster can hold it"), sentence.Say("it waits there for %s", resource))}
	}
	if best.Beyond < p.config.Pending {
		return Choice{Cluster: best.Name, Beyond: true, Words: because(wish, sentence.Say("no cluster had room"), sentence.Say("it waits there for %s", resource))}
	}
	var left []string
	for _, s := range able[:min(len(able), mostNamed)] {
		left = append(left, Show(resource, s.free(resource))+" in "+s.Name)
	}
	if len(able) > mostNamed {
		left = append(left, "…")
	}
	return Choice{Resource: resource, Words: clauses(
		sentence.Say("it asks for %s %s", Show(resource, r.Resources[resource]), resource),
		sentence.Say("free are %s", strings.Join(left, ", ")),
	)}
}

// unable says why none of the clusters that are wanted takes the action.
func (p *Policy) unable(r *Request, wish wish, matching []*Seat) string {
	var why []string
	for _, s := range matching {
		words := s.Closed
		if words == "" {
			words = p.unfit(s.Cluster, r)
		}
		if words == "" {
			words = sentence.Say("has not connected yet")
		}
		why = append(why, about(s.Name, words))
	}
	if wish.cluster == "" {
		why = append([]string{wish.untaken()}, few(why)...)
	}
	return clauses(why...)
}

// together is always the same cluster for a group, as long as the clusters are the same, and a different one for few groups when
// one is added or removed.
func together(group string, able []*Seat) *Seat {
	var best *Seat
	most := math.Inf(-1)
	for _, s := range able {
		h := fnv.New64a()
		_, _ = h.Write([]byte(group + "\x00" + s.Name))
		// Weighted rendezvous hashing: the chance of a cluster is in proportion to its weight.
		score := -s.weight() / math.Log((float64(mix(h.Sum64())>>11)+0.5)/(1<<53))
		if score > most {
			best, most = s, score
		}
	}
	return best
}

// mix spreads the bits of a hash of similar texts.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
