package leader

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// TestTheTableBalances: replicas come, leave and die in any order. Each shard always has one owner while a replica stays;
// when all have given away their surplus, one at a time and in any order, no one has two more than another, and no shard
// moved that did not have to.
func TestTheTableBalances(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		held := newTable()
		for step := range 30 {
			names := slices.Sorted(maps.Keys(held.Replicas))
			switch some := random.IntN(4); {
			case some < 2 || len(names) == 0:
				held.renew(fmt.Sprint("replica-", random.IntN(1000)), 15, false)
			case some == 2:
				held.remove(names[random.IntN(len(names))])
			default:
				held.renew(names[random.IntN(len(names))], 15, true)
			}
			decoded, err := decodeTable(held.encode())
			require.NoError(t, err)
			require.Equal(t, held, decoded)
			before := slices.Clone(held.Owners)
			held.settle()
			for shard, owner := range before {
				if _, lives := held.Replicas[owner]; lives {
					require.Equal(t, owner, held.Owners[shard], "the shard of a replica that lives stays")
				}
			}
			moved := 0
			for round := 0; ; round++ {
				require.Less(t, round, 10*ident.Shards, "seed %d step %d: the table comes to rest", seed, step)
				var giving []string
				for name := range held.Replicas {
					if len(held.quotas()) > 0 && held.surplus(name) > 0 {
						giving = append(giving, name)
					}
				}
				if len(giving) == 0 {
					break
				}
				slices.Sort(giving)
				owned := held.owned(giving[random.IntN(len(giving))])
				held.give(owned[random.IntN(len(owned))])
				moved++
			}
			require.LessOrEqual(t, moved, ident.Shards, "each shard moves once at most")
			least, most := ident.Shards, 0
			for name, one := range held.Replicas {
				if count := len(held.owned(name)); one.Leaving && len(held.quotas()) > 0 {
					require.Zero(t, count)
				} else if !one.Leaving {
					least, most = min(least, count), max(most, count)
				}
			}
			if len(held.quotas()) > 0 {
				require.LessOrEqual(t, most-least, 1)
				require.NotContains(t, held.Owners, "")
			}
		}
	}
}

func TestATableOfAnotherSizeIsRefused(t *testing.T) {
	_, err := decodeTable(`{"owners": ["a", "b"]}`)
	require.ErrorContains(t, err, "2 shards")
	_, err = decodeTable(`{`)
	require.ErrorContains(t, err, annotation)
}
