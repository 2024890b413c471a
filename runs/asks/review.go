package asks

import (
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// Policies judges the pods that tasks ask for.
type Policies interface {
	// Review returns the field of what a policy, as a cluster reported it, does not allow, below a task spec or with the prefix run_spec,
	// and the reason in words; both are empty for an allowed task. An empty policy is that of this installation. Without a run, accounts
	// are not judged.
	Review(policy string, template *core.TaskTemplate, run *task.RunSpec) (field, words string)
}

// mostReasons bounds the clusters whose reasons are given.
const mostReasons = 5

// Review judges a task by the policies of clusters. It is allowed if one of them allows it; otherwise the words are the reason, or those of
// each cluster if they differ. Without clusters, the policy of the installation decides.
func Review(by Policies, clusters []placement.Cluster, template *core.TaskTemplate, run *task.RunSpec) (field, words string) {
	judged := map[string]string{} // words by policy, as many clusters may have the same
	alike, reasons := true, make([]string, 0, len(clusters))
	for i := range clusters {
		c := &clusters[i]
		if c.Unseen && c.Closed != "" {
			continue // it takes no work, and never did
		}
		why, known := judged[c.PodPolicy]
		if !known {
			var of string
			of, why = by.Review(c.PodPolicy, template, run)
			if why == "" {
				return "", ""
			}
			judged[c.PodPolicy] = why
			if field == "" {
				field, words = of, why
			}
		}
		alike = alike && why == words
		reasons = append(reasons, c.Name+": "+why)
	}
	switch {
	case len(reasons) == 0:
		return by.Review("", template, run)
	case alike:
		return field, words
	}
	if more := len(reasons) - mostReasons; more > 0 {
		reasons = append(reasons[:mostReasons], fmt.Sprintf("and %d more", more))
	}
	return field, "no cluster allows it. " + strings.Join(reasons, ". ")
}

// Known are the clusters of an installation; placement.Book has them.
type Known interface {
	Clusters() []placement.Cluster
}

// Anywhere judges tasks for which no cluster is chosen, by the policies of all clusters.
type Anywhere struct {
	Policies Policies
	Clusters Known
}

// Review is as the function Review, for all clusters.
func (a Anywhere) Review(template *core.TaskTemplate, run *task.RunSpec) (field, words string) {
	return Review(a.Policies, a.Clusters.Clusters(), template, run)
}
