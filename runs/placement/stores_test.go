package placement_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// divided has one store that east reaches, one in it that only north reaches, and one of all clusters in the EU.
func divided() placement.Config {
	return placement.Config{Stores: []placement.Store{
		{Prefix: "s3://east/", Clusters: []string{"east"}},
		{Prefix: "s3://east/north", Clusters: []string{"north"}},
		{Prefix: "file:///data/eu", Clusters: []string{"south"}, Where: []string{"region=eu"}},
	}}
}

func TestDataChooses(t *testing.T) {
	east, west, north := machine("east", 10, 2, 0, 0), machine("west", 10, 8, 0, 0), machine("north", 10, 1, 0, 0)
	european := with(west, func(c *placement.Cluster) { c.Labels = map[string]string{"region": "eu"} })
	away := with(east, func(c *placement.Cluster) { c.Closed, c.Away = "is away", true })
	for name, test := range map[string]struct {
		request  placement.Request
		clusters []placement.Cluster
		want     placement.Choice
	}{
		"of a store that one reaches": {
			request: placement.Request{Data: []string{"", "s3://all/inputs", "s3://east/p/d/run/"}}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it; its data is in s3://east"},
		},
		"the store itself": {
			request: placement.Request{Data: []string{"s3://east"}}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it; its data is in s3://east"},
		},
		"of another bucket whose name begins alike": {
			request: placement.Request{Data: []string{"s3://eastern/x"}, Resources: cores(1)}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "west", Words: "2 of 2 clusters could take it; west had the most free cpu"},
		},
		"of a store in a store": {
			request: placement.Request{Data: []string{"s3://east/north/x"}}, clusters: []placement.Cluster{east, west, north},
			want: placement.Choice{Cluster: "north", Words: "1 of 3 clusters could take it; its data is in s3://east/north"},
		},
		"of two stores that no cluster reaches both": {
			request: placement.Request{Data: []string{"s3://east/north/x", "s3://east/x"}}, clusters: []placement.Cluster{east, north},
			want: placement.Choice{Words: "no cluster takes it; cluster east cannot reach s3://east/north; cluster north cannot reach s3://east"},
		},
		"by a label": {
			request: placement.Request{Data: []string{"/data/eu/x"}}, clusters: []placement.Cluster{east, european},
			want: placement.Choice{Cluster: "west", Words: "1 of 2 clusters could take it; its data is in /data/eu"},
		},
		"the cluster that reaches it is away": {
			request: placement.Request{Data: []string{"s3://east/x"}}, clusters: []placement.Cluster{away, west},
			want: placement.Choice{Words: "no cluster takes it; cluster east is away; cluster west cannot reach s3://east"},
		},
		"another than that of the parent": {
			request: placement.Request{Data: []string{"s3://east/x"}, Parent: "west"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it; its data is in s3://east"},
		},
		"the cluster that reaches it is full": {
			request: placement.Request{Data: []string{"s3://east/x"}, Resources: cores(5)}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "east", Beyond: true, Words: "no other cluster can hold it; it waits there for cpu"},
		},
		"an attempt that was taken from the only one": {
			request: placement.Request{Data: []string{"s3://east/x"}, Avoid: "east"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it; its data is in s3://east"},
		},
		"workers are where it is": {
			request: placement.Request{Data: []string{"s3://east/x"}, Group: "p/d/env"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "east", Words: "the workers of its environment are there"},
		},
		"the queue names another cluster": {
			request: placement.Request{Data: []string{"s3://east/x"}, Queue: "q", Pin: "west"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Words: "cluster west cannot reach s3://east"},
		},
		"the queue names a cluster that is not registered": {
			request: placement.Request{Data: []string{"s3://east/x"}, Queue: "q", Pin: "new"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Words: "cluster new cannot reach s3://east"},
		},
		"the queue names a cluster that never connected": {
			request: placement.Request{Data: []string{"s3://east/x"}, Queue: "q", Pin: "west"}, clusters: []placement.Cluster{with(west, func(c *placement.Cluster) { c.Unseen = true })},
			want: placement.Choice{Words: "cluster west cannot reach s3://east"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, placement.New(divided()).Choose(&test.request, seats(test.clusters...)))
		})
	}
}

// TestDataIsNoReasonToRefuse: a cluster that reaches it may be registered later.
func TestDataIsNoReasonToRefuse(t *testing.T) {
	words, _ := placement.New(divided()).Refusal(&placement.Request{Data: []string{"s3://east/x"}}, []placement.Cluster{machine("west", 1, 1, 0, 0)})
	require.Empty(t, words)
}

// TestWithoutStoresDataDecidesNothing: any choice is the same with and without data.
func TestWithoutStoresDataDecidesNothing(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	policy, one := placement.New(placement.Config{Pending: 2}), func(of ...string) string { return of[random.IntN(len(of))] }
	for i := range 2000 {
		var clusters []placement.Cluster
		for n := range 1 + random.IntN(4) {
			c := machine(fmt.Sprintf("c%d", n), 10, random.Int64N(11), 8, random.Int64N(9))
			c.Closed, c.Unseen, c.Weight = one("", "", "is away"), random.IntN(5) == 0, random.IntN(3)
			clusters = append(clusters, c)
		}
		request := placement.Request{Pin: one("", "", "c0", "c9"), Parent: one("", "c1"), Avoid: one("", "c0"), Group: one("", "", "g"), Resources: cores(random.Int64N(12))}
		booked := seats(clusters...)
		want := policy.Choose(&request, booked)
		request.Data = []string{one("s3://east/x", "/data/x", ""), "s3://east"}
		require.Equal(t, want, policy.Choose(&request, booked), "seed %d, step %d", seed, i)
	}
}

func TestStoresOfAClusterAreListed(t *testing.T) {
	policy := placement.New(divided())
	require.Equal(t, []string{"s3://east"}, policy.Stores("east", nil))
	require.Equal(t, []string{"/data/eu"}, policy.Stores("west", map[string]string{"region": "eu"}))
	require.Empty(t, policy.Stores("west", nil))
}

// TestBase: only a store that is for it, and that every cluster reaches to which the run may go.
func TestBase(t *testing.T) {
	config := divided()
	config.Rules = []placement.Rule{{Queues: []string{"eu"}, Where: []string{"region=eu"}}, {Queues: []string{"all"}, Pool: "default"}}
	config.Stores[0].Base, config.Stores[2].Base = true, true
	east := with(machine("east", 1, 1, 0, 0), func(c *placement.Cluster) { c.Pools = []string{"one", "two"} })
	west := with(machine("west", 1, 1, 0, 0), func(c *placement.Cluster) { c.Pools, c.Labels = []string{"two"}, map[string]string{"region": "eu"} })
	for name, test := range map[string]struct {
		request placement.Request
		want    string
	}{
		"any cluster":             {placement.Request{}, ""},
		"every cluster, by words": {placement.Request{Queue: "all"}, ""},
		"a queue's cluster":       {placement.Request{Pin: "east"}, "s3://east"},
		"one that is not known":   {placement.Request{Pin: "south"}, "/data/eu"},
		"one without a store":     {placement.Request{Pin: "new"}, ""},
		"a store for other data":  {placement.Request{Pin: "north"}, ""},
		"a pool":                  {placement.Request{Pool: "one"}, "s3://east"},
		"a pool with several":     {placement.Request{Pool: "two"}, ""},
		"a rule":                  {placement.Request{Queue: "eu"}, "/data/eu"},
	} {
		require.Equal(t, test.want, placement.New(config).Base(&test.request, []placement.Cluster{east, west}), name)
	}
	require.Empty(t, placement.New(divided()).Base(&placement.Request{Pin: "east"}, []placement.Cluster{east, west}))
}

func TestElsewhere(t *testing.T) {
	book := placement.NewBook(placement.New(divided()))
	request := &placement.Request{Data: []string{"s3://east/x"}}
	book.Report(time.Now(), []placement.Cluster{machine("east", 1, 1, 0, 0), machine("west", 1, 1, 0, 0)}, nil)
	require.True(t, book.Elsewhere(request, "west"))
	require.False(t, book.Elsewhere(request, "east"))
	require.True(t, book.Elsewhere(&placement.Request{Data: []string{"s3://all/x"}}, "east"))
	require.Equal(t, "s3://east", book.Far("west", "s3://east/x"))
	require.Equal(t, "s3://east", book.Far("unknown", "s3://east/x"))
	require.Empty(t, book.Far("east", "s3://east/x"))
	book.Report(time.Now(), []placement.Cluster{with(machine("east", 1, 1, 0, 0), func(c *placement.Cluster) { c.Closed = "is away" }), machine("west", 1, 1, 0, 0)}, nil)
	require.False(t, book.Elsewhere(request, "west"))
	require.True(t, placement.NewBook(placement.New(placement.Config{})).Elsewhere(request, "west"), "without stores, every cluster reaches everything")
}

func TestStoresInOneLine(t *testing.T) {
	var store placement.Store
	require.NoError(t, store.UnmarshalText([]byte("prefix=s3://east/a clusters=east;west where=region=eu;tier=1 base=true")))
	require.Equal(t, placement.Store{Base: true, Prefix: "s3://east/a", Clusters: []string{"east", "west"}, Where: []string{"region=eu", "tier=1"}}, store)
	require.EqualError(t, store.UnmarshalText([]byte("url=s3://east")), `a store has no field "url"`)
}

func TestStoresAreChecked(t *testing.T) {
	err := placement.Config{Stores: []placement.Store{
		{Prefix: "east", Clusters: []string{"east"}}, {Prefix: "s3://a"}, {Prefix: "s3://a/", Clusters: []string{"No"}, Where: []string{"eu"}},
	}}.Validate()
	for _, words := range []string{
		`stores[0].prefix: must be a URL or an absolute path, got "east"`, "stores[1].clusters: a store requires clusters or where",
		"stores[2].prefix: s3://a/ is listed twice", "stores[2].clusters[0]: ", `stores[2].where[0]: must be key=value, got "eu"`,
	} {
		require.ErrorContains(t, err, words)
	}
	require.NoError(t, divided().Validate())
}
