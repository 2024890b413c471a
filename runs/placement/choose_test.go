package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// cores and gpus are amounts.
func cores(n int64) placement.Amounts { return placement.Amounts{placement.CPU: n * 1000} }

func gpus(n int64) placement.Amounts {
	return placement.Amounts{placement.CPU: 1000, "nvidia.com/gpu": n}
}

// machine is a cluster with n cores and devices, of which some are free.
func machine(name string, all, free, devices, freeDevices int64) placement.Cluster {
	return placement.Cluster{
		Name: name, Weight: 1,
		Capacity: placement.Amounts{placement.CPU: all * 1000, "nvidia.com/gpu": devices},
		Free:     placement.Amounts{placement.CPU: free * 1000, "nvidia.com/gpu": freeDevices},
	}
}

func with(c placement.Cluster, change func(*placement.Cluster)) placement.Cluster {
	change(&c)
	return c
}

func seats(clusters ...placement.Cluster) []placement.Seat {
	var result []placement.Seat
	for i := range clusters {
		result = append(result, placement.Seat{Cluster: &clusters[i], Booked: placement.Amounts{}})
	}
	return result
}

func TestChoose(t *testing.T) {
	east, west := machine("east", 10, 4, 8, 2), machine("west", 10, 8, 0, 0)
	cordoned := with(west, func(c *placement.Cluster) { c.Closed = "is cordoned" })
	gpuPool := with(east, func(c *placement.Cluster) { c.Pools = []string{"gpu"} })
	rules := placement.Config{Rules: []placement.Rule{
		{Projects: []string{"ml/production"}, Pool: "gpu"},
		{Projects: []string{"ml"}, Cluster: "west"},
		{Labels: []string{"data=eu"}, Where: []string{"region=eu"}},
		{Queues: []string{"near"}, Where: []string{"region=us"}},
	}}
	for name, test := range map[string]struct {
		config   placement.Config
		request  placement.Request
		clusters []placement.Cluster
		want     placement.Choice
	}{
		"the largest free share": {
			request: placement.Request{Resources: cores(1)}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "west", Words: "2 of 2 clusters could take it; west had the most free cpu"},
		},
		"devices count alone": {
			request: placement.Request{Resources: gpus(1)}, clusters: []placement.Cluster{east, west, machine("north", 100, 90, 8, 1)},
			want: placement.Choice{Cluster: "east", Words: "2 of 3 clusters could take it; east had the most free nvidia.com/gpu"},
		},
		"weight": {
			request: placement.Request{Resources: cores(1)}, clusters: []placement.Cluster{with(east, func(c *placement.Cluster) { c.Weight = 3 }), west},
			want: placement.Choice{Cluster: "east", Words: "2 of 2 clusters could take it; east had the most free cpu by weight"},
		},
		"spill over": {
			request: placement.Request{Resources: cores(5)}, clusters: []placement.Cluster{with(east, func(c *placement.Cluster) { c.Weight = 100 }), west},
			want: placement.Choice{Cluster: "west", Words: "1 of 2 clusters could take it"},
		},
		"a cordoned cluster is not chosen": {
			request: placement.Request{Resources: cores(1)}, clusters: []placement.Cluster{east, cordoned},
			want: placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it"},
		},
		"all are closed": {
			request: placement.Request{}, clusters: []placement.Cluster{cordoned, with(east, func(c *placement.Cluster) { c.Closed = "is away" })},
			want: placement.Choice{Words: "no cluster takes it; cluster west is cordoned; cluster east is away"},
		},
		"a type that one runs": {
			request:  placement.Request{Type: "ray"},
			clusters: []placement.Cluster{with(east, func(c *placement.Cluster) { c.TaskTypes = []string{"ray"} }), with(west, func(c *placement.Cluster) { c.TaskTypes = []string{"spark"} })},
			want:     placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it"},
		},
		"a type that none runs": {
			request: placement.Request{Type: "ray"}, clusters: []placement.Cluster{with(west, func(c *placement.Cluster) { c.TaskTypes = []string{} }), cordoned},
			want: placement.Choice{Words: "no cluster takes it; cluster west does not offer tasks of type ray; cluster west is cordoned"},
		},
		"an accelerator": {
			request: placement.Request{Accelerator: "nvidia-h100"},
			clusters: []placement.Cluster{
				with(west, func(c *placement.Cluster) { c.Accelerators = []string{"Tesla-T4"} }),
				with(east, func(c *placement.Cluster) { c.Accelerators = []string{"NVIDIA-H100-80GB-HBM3"} }),
			},
			want: placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it"},
		},
		"the cluster of the parent, while it has room": {
			request: placement.Request{Resources: cores(4), Parent: "east"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "east", Words: "its parent runs there"},
		},
		"another than that of the parent, which is full": {
			request: placement.Request{Resources: cores(5), Parent: "east"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "west", Words: "1 of 2 clusters could take it"},
		},
		"children may be spread": {
			config: placement.Config{Spread: true}, request: placement.Request{Resources: cores(4), Parent: "east"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "west", Words: "2 of 2 clusters could take it; west had the most free cpu"},
		},
		"the pool of the run": {
			request: placement.Request{Pool: "gpu"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "east", Words: "it asks for pool gpu"},
		},
		"the pool of the run has no room and a single cluster": {
			request: placement.Request{Pool: "gpu", Resources: gpus(4)}, clusters: []placement.Cluster{gpuPool, machine("west", 10, 10, 10, 10)},
			want: placement.Choice{Cluster: "east", Beyond: true, Words: "it asks for pool gpu; no other cluster can hold it; it waits there for nvidia.com/gpu"},
		},
		"the pool default is every cluster": {
			request: placement.Request{Pool: "default", Resources: cores(1)}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "west", Words: "it asks for pool default; 2 of 2 clusters could take it; west had the most free cpu"},
		},
		"unless a cluster says that it is of the pool default": {
			request: placement.Request{Pool: "default"}, clusters: []placement.Cluster{with(east, func(c *placement.Cluster) { c.Pools = []string{"default"} }), west},
			want: placement.Choice{Cluster: "east", Words: "it asks for pool default"},
		},
		"a pool that is gone": {
			request: placement.Request{Pool: "tpu"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Words: "no cluster of pool tpu is known"},
		},
		"a rule with a pool": {
			config: rules, request: placement.Request{Project: "ml", Domain: "production"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "east", Words: "a rule asks for pool gpu"},
		},
		"a rule with a cluster": {
			config: rules, request: placement.Request{Project: "ml", Domain: "staging"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "west", Words: "a rule names it"},
		},
		"a rule by labels": {
			config: rules, request: placement.Request{Project: "x", Labels: map[string]string{"data": "eu"}},
			clusters: []placement.Cluster{east, with(west, func(c *placement.Cluster) { c.Labels = map[string]string{"region": "eu"} })},
			want:     placement.Choice{Cluster: "west", Words: "a rule asks for clusters with region=eu"},
		},
		"a rule by queue": {
			config: rules, request: placement.Request{Project: "x", Queue: "near"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Words: "no cluster with region=us is known"},
		},
		"the pool of the run comes before rules": {
			config: rules, request: placement.Request{Project: "ml", Pool: "gpu"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "east", Words: "it asks for pool gpu"},
		},
		"the pool of the run comes before the queue's cluster": {
			request: placement.Request{Queue: "night", Pin: "west", Pool: "gpu"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "east", Words: "it asks for pool gpu"},
		},
		"the queue's cluster within the pool": {
			request:  placement.Request{Queue: "night", Pin: "west", Pool: "gpu"},
			clusters: []placement.Cluster{gpuPool, with(west, func(c *placement.Cluster) { c.Pools = []string{"gpu"} })},
			want:     placement.Choice{Cluster: "west", Words: "queue night names it"},
		},
		"the queue's cluster and the pool that clients send when they chose none": {
			request: placement.Request{Queue: "night", Pin: "west", Pool: "default"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "west", Words: "queue night names it"},
		},
		"the queue's cluster and a pool, without any pools": {
			request: placement.Request{Queue: "night", Pin: "west", Pool: "gpu"}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "west", Words: "queue night names it"},
		},
		"the queue's cluster is not registered": {
			request: placement.Request{Queue: "night", Pin: "north"}, clusters: []placement.Cluster{gpuPool, west},
			want: placement.Choice{Cluster: "north", Words: "queue night names it; no cluster of this name is registered"},
		},
		"the queue's cluster is cordoned": {
			request: placement.Request{Queue: "night", Pin: "west"}, clusters: []placement.Cluster{gpuPool, cordoned},
			want: placement.Choice{Words: "cluster west is cordoned"},
		},
		"no cluster has room": {
			request: placement.Request{Resources: gpus(4)}, clusters: []placement.Cluster{east, machine("north", 10, 10, 4, 0), west},
			want: placement.Choice{Resource: "nvidia.com/gpu", Words: "it asks for 4 nvidia.com/gpu; free are 2 in east, 0 in north"},
		},
		"no cluster has room, and some actions may wait there": {
			config: placement.Config{Pending: 1}, request: placement.Request{Resources: gpus(4)}, clusters: []placement.Cluster{east, machine("north", 10, 10, 4, 0)},
			want: placement.Choice{Cluster: "east", Beyond: true, Words: "no cluster had room; it waits there for nvidia.com/gpu"},
		},
		"one cluster can hold it": {
			request: placement.Request{Resources: gpus(8)}, clusters: []placement.Cluster{east, machine("north", 10, 10, 4, 4)},
			want: placement.Choice{Cluster: "east", Beyond: true, Words: "no other cluster can hold it; it waits there for nvidia.com/gpu"},
		},
		"memory in words": {
			request: placement.Request{Resources: placement.Amounts{placement.Memory: 3 << 29}},
			clusters: []placement.Cluster{
				{Name: "a", Weight: 1, Capacity: placement.Amounts{placement.Memory: 8 << 30}, Free: placement.Amounts{placement.Memory: 1 << 30}},
				{Name: "b", Weight: 1, Capacity: placement.Amounts{placement.Memory: 8 << 30}, Free: placement.Amounts{placement.Memory: 512 << 20}},
			},
			want: placement.Choice{Resource: placement.Memory, Words: "it asks for 1.5Gi memory; free are 1Gi in a, 512Mi in b"},
		},
		"a cluster without weight": {
			request: placement.Request{Resources: cores(1)}, clusters: []placement.Cluster{east, with(west, func(c *placement.Cluster) { c.Weight = 0 })},
			want: placement.Choice{Cluster: "east", Words: "no other cluster takes work that does not name it"},
		},
		"a cluster without weight, by its pool": {
			request: placement.Request{Resources: cores(1), Pool: "gpu"}, clusters: []placement.Cluster{with(gpuPool, func(c *placement.Cluster) { c.Weight = 0 }), west},
			want: placement.Choice{Cluster: "east", Words: "it asks for pool gpu"},
		},
		"no machine is large enough": {
			request:  placement.Request{Resources: cores(4), Pod: cores(4)},
			clusters: []placement.Cluster{east, with(west, func(c *placement.Cluster) { c.Largest = cores(3) })},
			want:     placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it"},
		},
		"a cluster that never reported": {
			request: placement.Request{}, clusters: []placement.Cluster{with(east, func(c *placement.Cluster) { c.Unseen = true })},
			want: placement.Choice{Words: "no cluster takes it; cluster east has not connected yet"},
		},
		"a cluster that never reported, by its queue": {
			request: placement.Request{Queue: "q", Pin: "east"}, clusters: []placement.Cluster{with(east, func(c *placement.Cluster) { c.Unseen = true }), west},
			want: placement.Choice{Cluster: "east", Words: "queue q names it; it has not connected yet"},
		},
		"a pool where no cluster is in one": {
			request: placement.Request{Pool: "tpu", Resources: cores(1)}, clusters: []placement.Cluster{east, west},
			want: placement.Choice{Cluster: "west", Words: "2 of 2 clusters could take it; west had the most free cpu"},
		},
		"clusters that report no capacity": {
			request: placement.Request{Resources: cores(4)}, clusters: []placement.Cluster{{Name: "b", Weight: 1}, {Name: "a", Weight: 1}},
			want: placement.Choice{Cluster: "a", Words: "2 of 2 clusters could take it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, placement.New(test.config).Choose(&test.request, seats(test.clusters...)))
		})
	}
}

func TestWordsAreBounded(t *testing.T) {
	var clusters []placement.Cluster
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		clusters = append(clusters, placement.Cluster{Name: name, Weight: 1, Closed: "is away"})
	}
	choice := placement.New(placement.Config{}).Choose(&placement.Request{}, seats(clusters...))
	require.Equal(t, "no cluster takes it; cluster a is away; cluster b is away; cluster c is away; cluster d is away; cluster e is away; others that do not take it: 2", choice.Words)
}

func TestRefusal(t *testing.T) {
	policy := placement.New(placement.Config{})
	clusters := []placement.Cluster{
		{Name: "east", Weight: 1, Pools: []string{"gpu"}, TaskTypes: []string{"python"}, Closed: "is away"}, {Name: "west", Weight: 1, TaskTypes: []string{"python", "ray"}},
	}
	for name, test := range map[string]struct {
		request placement.Request
		words   string
		pool    bool
	}{
		"a type of one cluster":       {request: placement.Request{Type: "ray"}},
		"a cluster that is away":      {request: placement.Request{Type: "python", Pool: "gpu"}},
		"the pool of all":             {request: placement.Request{Pool: "default"}},
		"a queue's unknown cluster":   {request: placement.Request{Type: "x", Pin: "north"}},
		"an unknown pool":             {request: placement.Request{Pool: "tpu"}, words: "there is no pool tpu of clusters; pools: default, gpu", pool: true},
		"a type of no cluster":        {request: placement.Request{Type: "mpi"}, words: "no cluster offers tasks of type mpi"},
		"a type of none in the pool":  {request: placement.Request{Type: "ray", Pool: "gpu"}, words: "no cluster of pool gpu offers tasks of type ray"},
		"a type of another than this": {request: placement.Request{Type: "ray", Pin: "east"}, words: "cluster east does not offer tasks of type ray"},
	} {
		t.Run(name, func(t *testing.T) {
			words, pool := policy.Refusal(&test.request, clusters)
			require.Equal(t, test.words, words)
			require.Equal(t, test.pool, pool)
		})
	}
	words, _ := policy.Refusal(&placement.Request{Pool: "tpu", Type: "mpi"}, nil)
	require.Empty(t, words, "nothing is known, so nothing is refused")
}
