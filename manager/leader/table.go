package leader

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// table says which replica owns which shard. It is an annotation of the Lease, so that one write changes all of it, or
// nothing if another replica was faster. An owner changes in two ways only: a replica gives away a shard of its own, after
// its work for it has stopped; or it is dead, and another one gives its shards away.
type table struct {
	Replicas map[string]member `json:"replicas"`
	// Owners has a name for each shard.
	Owners []string `json:"owners"`
}

// member is a replica that takes part.
type member struct {
	// Beat changes with each renewal. Others measure with their own clocks for how long it did not.
	Beat int64 `json:"beat"`
	// Seconds without a renewal after which the replica is dead.
	Seconds int `json:"seconds"`
	// Leaving says that the replica gets no more shards and gives away those it has.
	Leaving bool `json:"leaving,omitempty"`
}

func (m member) duration() time.Duration { return time.Duration(m.Seconds) * time.Second }

func newTable() *table {
	return &table{Replicas: map[string]member{}, Owners: make([]string, ident.Shards)}
}

func decodeTable(text string) (*table, error) {
	t := newTable()
	if text == "" {
		return t, nil
	}
	if err := json.Unmarshal([]byte(text), t); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", annotation, err)
	}
	if len(t.Owners) != ident.Shards {
		return nil, fmt.Errorf("annotation %s: it has %d shards, and this version %d", annotation, len(t.Owners), ident.Shards)
	}
	if t.Replicas == nil {
		t.Replicas = map[string]member{}
	}
	return t, nil
}

func (t *table) encode() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return string(text)
}

// renew adds a replica, or renews it.
func (t *table) renew(replica string, seconds int, leaving bool) {
	t.Replicas[replica] = member{Beat: t.Replicas[replica].Beat + 1, Seconds: seconds, Leaving: leaving}
}

// remove removes a replica that is dead or no longer owns anything.
func (t *table) remove(replica string) { delete(t.Replicas, replica) }

// owned are the shards of a replica.
func (t *table) owned(replica string) []int {
	var shards []int
	for shard, owner := range t.Owners {
		if owner == replica {
			shards = append(shards, shard)
		}
	}
	return shards
}

// quotas are how many shards each replica that stays should own: as many as the others, or one more. The names decide who
// gets one more, so that all replicas compute the same.
func (t *table) quotas() map[string]int {
	staying := slices.DeleteFunc(slices.Sorted(maps.Keys(t.Replicas)), func(name string) bool { return t.Replicas[name].Leaving })
	quotas := map[string]int{}
	for i, name := range staying {
		quotas[name] = ident.Shards / len(staying)
		if i < ident.Shards%len(staying) {
			quotas[name]++
		}
	}
	return quotas
}

// surplus is how many shards a replica owns beyond its quota.
func (t *table) surplus(replica string) int {
	return max(0, len(t.owned(replica))-t.quotas()[replica])
}

// give gives a shard to the replica that lacks most. It stays no one's if no replica stays.
func (t *table) give(shard int) {
	quotas := t.quotas()
	names := slices.Sorted(maps.Keys(quotas))
	if len(names) == 0 {
		t.Owners[shard] = ""
		return
	}
	t.Owners[shard] = slices.MaxFunc(names, func(a, b string) int {
		return cmp.Compare(quotas[a]-len(t.owned(a)), quotas[b]-len(t.owned(b)))
	})
}

// settle gives away the shards whose owner is not in the table.
func (t *table) settle() {
	for shard, owner := range t.Owners {
		if _, found := t.Replicas[owner]; !found {
			t.give(shard)
		}
	}
}

// seconds is how long the Lease holds: as long as that of any replica.
func (t *table) seconds() int {
	longest := 1
	for _, one := range t.Replicas {
		longest = max(longest, one.Seconds)
	}
	return longest
}
