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
	// Parent is the name of its parent; empty for a root.
	Parent string
	// AboveFailed says that children of it failed too, so that its error may be theirs.
	AboveFailed bool
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

// Collector collects failures. It keeps little of each, so there may be as many groups as failures.
type Collector struct {
	seed   maphash.Seed
	groups Groups
	masked []byte
	// passed has what the parents of failures would fail with if they did not catch it.
	passed map[uint64]struct{}
	above  []pending
}

// pending is a failure that may be that of a child, which is known when all were added.
type pending struct {
	Failure
	key, passed uint64
}

// New returns an empty collection.
func New() *Collector {
	return &Collector{seed: maphash.MakeSeed(), groups: Groups{by: map[uint64]*Group{}}, passed: map[uint64]struct{}{}}
}

// Add adds a failure. Failures may come in any order. The error is not retained.
func (c *Collector) Add(f Failure) {
	c.groups.count++
	code, message := beginning(f.Error)
	c.masked = append(append(c.masked[:0], code...), 0)
	c.masked = mask(c.masked, message)
	key := maphash.Bytes(c.seed, c.masked)
	if f.Parent != "" && len(f.Error) > 0 {
		c.passed[c.inherited(f.Parent, code, message)] = struct{}{}
	}
	if f.AboveFailed {
		up := pending{Failure: f, key: key, passed: c.inherited(f.Name, code, message)}
		up.Error = nil
		c.above = append(c.above, up)
		return
	}
	c.groups.add(key, f)
}

// inherited is a key for an action that fails with an error.
func (c *Collector) inherited(name string, code, message []byte) uint64 {
	c.masked = append(append(c.masked[:0], name...), 0)
	c.masked = append(append(c.masked, code...), 0)
	c.masked = append(c.masked, message[:min(len(message), maxMessage)]...)
	return maphash.Bytes(c.seed, c.masked)
}

// Groups ends the collection. An action that failed because a child failed has that child's error, and is in no group.
func (c *Collector) Groups() *Groups {
	for i := range c.above {
		if _, ok := c.passed[c.above[i].passed]; ok {
			c.groups.inherited++
		} else {
			c.groups.add(c.above[i].key, c.above[i].Failure)
		}
	}
	c.above, c.passed = nil, nil
	return &c.groups
}

// Groups are failures by their cause.
type Groups struct {
	by               map[uint64]*Group
	count, inherited int
}

// Count is the number of failures added.
func (g *Groups) Count() int { return g.count }

// Inherited is how many of them have the error of a child.
func (g *Groups) Inherited() int { return g.inherited }

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.by) }

func (g *Groups) add(key uint64, f Failure) {
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

// Read returns the code and the beginning of the message of an encoded core.ExecutionError that may be truncated.
func Read(body []byte) (code, message string) {
	c, m := beginning(body)
	return string(c), string(m[:min(len(m), maxMessage)])
}

// Masked is a message without what tends to differ between failures of one cause.
func Masked(message string) []byte { return mask(nil, []byte(message)) }

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
