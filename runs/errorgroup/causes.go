// Package errorgroup groups failures by cause: the same code, and the same message apart from the parts that differ
// from action to action. It reads failures one by one from the store and returns groups for people to read.
package errorgroup

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Failure is a failed action. Its error may be truncated; the code and the beginning of the message suffice.
type Failure struct {
	ID    int64
	Name  string
	At    time.Time
	Error []byte // core.ExecutionError
}

// Group is the failures with the same cause.
type Group struct {
	// First is the earliest, without its error.
	First Failure
	// More are the names of the next failures, in the order in which they failed.
	More  []string
	Count int

	rest []Failure // those of More, while they are collected
}

// maxMore is how many names a group has besides the first.
const maxMore = 20

// Groups collects failures. It keeps little of each group, so there may be as many groups as failures.
type Groups struct {
	seed   maphash.Seed
	by     map[uint64]*Group
	masked []byte
	count  int
}

// New returns an empty collection.
func New() *Groups { return &Groups{seed: maphash.MakeSeed(), by: map[uint64]*Group{}} }

// Count is the number of failures added.
func (g *Groups) Count() int { return g.count }

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.by) }

// Add adds a failure to its group. Failures may come in any order. The error is not retained.
func (g *Groups) Add(f Failure) {
	g.count++
	code, message := beginning(f.Error)
	g.masked = append(append(g.masked[:0], code...), 0)
	g.masked = mask(g.masked, message)
	key := maphash.Bytes(g.seed, g.masked)
	f.Error = nil
	group := g.by[key]
	if group == nil {
		g.by[key] = &Group{First: f, Count: 1}
		return
	}
	group.Count++
	if earlier(f, group.First) < 0 {
		f, group.First = group.First, f
	}
	place, _ := slices.BinarySearchFunc(group.rest, f, earlier)
	if place >= maxMore {
		return
	}
	group.rest = slices.Insert(group.rest, place, f)
	group.rest = group.rest[:min(len(group.rest), maxMore)]
}

func earlier(a, b Failure) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
}

// Earliest returns up to limit groups, ordered by their first failures.
func (g *Groups) Earliest(limit int) []*Group {
	all := make([]*Group, 0, len(g.by))
	for _, group := range g.by {
		all = append(all, group)
	}
	slices.SortFunc(all, func(a, b *Group) int { return earlier(a.First, b.First) })
	all = all[:min(limit, len(all))]
	for _, group := range all {
		for i := range group.rest {
			group.More = append(group.More, group.rest[i].Name)
		}
		group.rest = nil
	}
	return all
}

// beginning returns the code and the available part of the message of an encoded core.ExecutionError that may be
// truncated.
func beginning(body []byte) (code, message []byte) {
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return code, message
		}
		body = body[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, body); n < 0 {
				return code, message
			}
			body = body[n:]
			continue
		}
		size, n := protowire.ConsumeVarint(body)
		if n < 0 {
			return code, message
		}
		body = body[n:]
		value := body[:min(size, uint64(len(body)))]
		switch number {
		case 1:
			code = value
		case 2:
			message = value
		}
		body = body[len(value):]
	}
	return code, message
}
