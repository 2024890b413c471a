package placement

import (
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Request is what an action asks of a cluster. It is shared and read only.
type Request struct {
	Project, Domain, Queue string
	// Pin is the cluster that the queue names; empty for none.
	Pin string
	// Pool is the pool of clusters that the run names; empty for none.
	Pool string
	// Labels are those of the run.
	Labels map[string]string
	// Type is the type of the task.
	Type string
	// Resources are what its pods ask for together.
	Resources Amounts
	// Pod is what the largest of its pods asks for.
	Pod Amounts
	// Accelerator is the device that it asks for; empty for any.
	Accelerator string
	// Parent is the cluster that runs its parent; empty for a root.
	Parent string
	// Avoid is the cluster that its last attempt was taken from; it is chosen only if no other may run the action.
	Avoid string
	// Data are the URIs of what it reads and the directories in which it writes; empty ones are none.
	Data []string
	// Group is set for an action that shares workers with others of the same group, which must not be spread over clusters.
	Group string
	// Refuses says in words what a policy of pods, as a cluster reported it, does not allow; empty if it allows the pods. Nil means that
	// every policy does.
	Refuses func(policy string) string
}

// anyPool is the name of the pool that clients send when no pool was chosen.
const anyPool = "default"

// Pools are the names of all pools, in order; none if no cluster is in one.
func Pools(clusters []Cluster) []string {
	var pools []string
	for i := range clusters {
		pools = append(pools, clusters[i].Pools...)
	}
	if len(pools) == 0 {
		return nil
	}
	pools = append(pools, anyPool)
	slices.Sort(pools)
	return slices.Compact(pools)
}

// Refusal says why no known cluster could ever run a request, and whether that is because of its pool. It is empty when one
// could, or when no cluster is known.
func (p *Policy) Refusal(r *Request, clusters []Cluster) (words string, pool bool) {
	if len(clusters) == 0 {
		return "", false
	}
	if pools := Pools(clusters); r.Pool != "" && len(pools) > 0 && !slices.Contains(pools, r.Pool) {
		return sentence.Say("there is no pool %s of clusters; pools: %s", r.Pool, strings.Join(pools, ", ")), true
	}
	seats := make([]Seat, len(clusters))
	for i := range clusters {
		seats[i].Cluster = &clusters[i]
	}
	wish := p.wish(r, seats)
	lacked, asked := "", *r
	asked.Accelerator = "" // an autoscaler may add a machine that has it
	for _, s := range wish.matching(seats) {
		if lacked = s.lacks(&asked); lacked == "" { // what reaches its data may be registered later
			return "", false
		}
	}
	if lacked == "" {
		return "", false // the clusters that are wanted have not connected yet
	}
	return wish.unoffered(lacked), false
}
