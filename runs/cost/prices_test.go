package cost_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/cost"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

func prices(t *testing.T, lines ...string) cost.Prices {
	t.Helper()
	config := cost.DefaultConfig()
	for _, line := range lines {
		var price cost.Price
		require.NoError(t, price.UnmarshalText([]byte(line)))
		config.Prices = append(config.Prices, price)
	}
	require.NoError(t, config.Validate())
	return cost.Prices{Config: config}
}

const (
	coreHour = 1000 * 3600
	gibHour  = 1024 * 3600
)

// TestTheFirstPriceCounts: of each resource the first entry that is about the place and has a price.
func TestTheFirstPriceCounts(t *testing.T) {
	p := prices(t, "gpu=3 accelerator=nvidia-h100 cluster=east", "core=0.1 queue=spot", "core=0.4 memory=0.05", "gpu=1")
	one := rollups.Use{CPU: coreHour, Memory: gibHour, GPU: coreHour}
	for _, c := range []struct {
		rate rollups.Rate
		want float64
	}{
		{rollups.Rate{Cluster: "east", Queue: "default", Accelerator: "NVIDIA-H100"}, 0.4 + 0.05 + 3},
		{rollups.Rate{Cluster: "west", Queue: "default", Accelerator: "nvidia-h100"}, 0.4 + 0.05 + 1},
		{rollups.Rate{Cluster: "east", Queue: "spot", Accelerator: "gpu"}, 0.1 + 0.05 + 1},
	} {
		used := []rollups.Priced{{Rate: c.rate, Use: one}}
		require.InDelta(t, c.want, p.Cost(used), 1e-9, "%+v", c.rate)
		require.EqualValues(t, c.want*cost.Micro, p.Weigh(used))
		require.False(t, p.Unpriced(used))
	}
	two := []rollups.Priced{{Rate: rollups.Rate{Queue: "spot"}, Use: rollups.Use{CPU: coreHour}}, {Rate: rollups.Rate{Queue: "other"}, Use: rollups.Use{CPU: coreHour / 2}}}
	require.InDelta(t, 0.1+0.2, p.Cost(two), 1e-9)
}

func TestWithoutPricesTimeOfProcessorsHasTheWeight(t *testing.T) {
	none, some := prices(t), prices(t, "core=0.04")
	used := []rollups.Priced{{Use: rollups.Use{CPU: 7, Memory: 9}}, {Use: rollups.Use{CPU: 5}}}
	require.False(t, none.Set())
	require.EqualValues(t, 12, none.Weigh(used))
	require.Zero(t, none.Cost(used))
	require.True(t, none.Unpriced(used))
	require.True(t, some.Unpriced(used), "memory has no price")
	require.False(t, some.Unpriced(used[1:]))
	require.NotEqual(t, none.Digest(), some.Digest())
	require.Equal(t, some.Digest(), prices(t, "core=0.04").Digest())
}

func TestPricesThatAreWrong(t *testing.T) {
	var price cost.Price
	require.ErrorContains(t, price.UnmarshalText([]byte("core=cheap color=red")), `core is a number, got "cheap"; it has no field "color"`)
	for words, config := range map[string]cost.Config{
		"currency":              {Currency: "", Prices: []cost.Price{{Core: 1}}},
		"prices[0].core":        {Currency: "USD", Prices: []cost.Price{{Core: -1}}},
		"has no core":           {Currency: "USD", Prices: []cost.Price{{}}},
		"prices[0].accelerator": {Currency: "USD", Prices: []cost.Price{{Core: 1, Accelerator: "h100"}}},
	} {
		require.ErrorContains(t, config.Validate(), words)
	}
}
