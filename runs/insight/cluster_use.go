package insight

import (
	"cmp"
	"context"
	"slices"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// ClusterReader reads what clusters have and what waits for them; worklists.PlacementReader does.
type ClusterReader interface {
	SpecsOnCluster(ctx context.Context, cluster string) ([]worklists.ClusterSpec, error)
	RunsOnCluster(ctx context.Context, cluster string, asked []worklists.AskedSpec, limit int) (runs []worklists.ClusterRun, total int, err error)
	HeldWithin(ctx context.Context, after int64, limit int) ([]worklists.WaitingAction, error)
	PendingOn(ctx context.Context, cluster string, afterRun, after int64, limit int) ([]worklists.WaitingAction, error)
}

// ClusterAsks reads what actions ask of clusters; asks.Reader does.
type ClusterAsks interface {
	Asks
	Specs(ctx context.Context, digests [][]byte) (map[string]placement.Amounts, error)
}

// ClusterPlaces knows what clusters could run; placement.Book does.
type ClusterPlaces interface {
	Prospect(r *placement.Request, cluster string) placement.Prospect
	Clusters() []placement.Cluster
}

// Clusters says who uses clusters and what waits for them.
type Clusters struct {
	Reader ClusterReader
	Asks   ClusterAsks
	Places ClusterPlaces
}

// GetClusterUse implements insightv1connect.InsightServiceHandler.
func (c *Clusters) GetClusterUse(ctx context.Context, request *insightv1.GetClusterUseRequest) (*insightv1.GetClusterUseResponse, error) {
	counted, err := c.Reader.SpecsOnCluster(ctx, request.GetCluster())
	if err != nil {
		return nil, err
	}
	asked, err := c.Asks.Specs(ctx, digestsOf(counted))
	if err != nil {
		return nil, err
	}
	limit := int(cmp.Or(request.GetLimit(), 10))
	projects := projectsOf(counted, asked)
	response := &insightv1.GetClusterUseResponse{TotalProjects: uint32(len(projects)), Projects: projects[:min(limit, len(projects))]} //nolint:gosec // a count
	runs, total, err := c.Reader.RunsOnCluster(ctx, request.GetCluster(), specsOf(asked), limit)
	if err != nil {
		return nil, err
	}
	response.TotalRuns = uint32(total) //nolint:gosec // a count
	for _, one := range runs {
		response.Runs = append(response.Runs, &insightv1.ClusterUse{
			Project: one.Run.Project, Domain: one.Run.Domain, Run: one.Run.Name, Actions: uint32(one.Live), Pending: uint32(one.Pending), //nolint:gosec // counts
			Asked: positive(placement.Amounts{placement.CPU: one.CPU, placement.Memory: one.Memory}),
		})
	}
	return response, nil
}

// digestsOf are the specs, each once.
func digestsOf(counted []worklists.ClusterSpec) (digests [][]byte) {
	seen := map[string]bool{}
	for i := range counted {
		if digest := counted[i].Digest; len(digest) > 0 && !seen[string(digest)] {
			seen[string(digest)] = true
			digests = append(digests, digest)
		}
	}
	return digests
}

func specsOf(asked map[string]placement.Amounts) []worklists.AskedSpec {
	specs := make([]worklists.AskedSpec, 0, len(asked))
	for digest, amounts := range asked {
		specs = append(specs, worklists.AskedSpec{Digest: []byte(digest), CPU: amounts[placement.CPU], Memory: amounts[placement.Memory]})
	}
	return specs
}

// projectsOf adds up what projects ask for, those with the most first.
func projectsOf(counted []worklists.ClusterSpec, asked map[string]placement.Amounts) []*insightv1.ClusterUse {
	places, sums := map[schema.Scope]*insightv1.ClusterUse{}, map[schema.Scope]placement.Amounts{}
	var projects []*insightv1.ClusterUse
	for i := range counted {
		one := &counted[i]
		at := schema.Scope{Project: one.Project, Domain: one.Domain}
		use := places[at]
		if use == nil {
			use = &insightv1.ClusterUse{Project: one.Project, Domain: one.Domain}
			places[at], sums[at] = use, placement.Amounts{}
			projects = append(projects, use)
		}
		use.Actions, use.Pending = use.GetActions()+uint32(one.Live), use.GetPending()+uint32(one.Pending) //nolint:gosec // counts
		if one.Runner != schema.RunnerPool {
			sums[at].Add(asked[string(one.Digest)], int64(one.Live))
		}
	}
	for at, use := range places {
		use.Asked = positive(sums[at])
	}
	slices.SortFunc(projects, func(a, b *insightv1.ClusterUse) int {
		return cmp.Or(
			cmp.Compare(b.GetAsked()[placement.CPU], a.GetAsked()[placement.CPU]), cmp.Compare(b.GetAsked()[placement.Memory], a.GetAsked()[placement.Memory]),
			cmp.Compare(b.GetActions(), a.GetActions()), cmp.Compare(a.GetProject(), b.GetProject()), cmp.Compare(a.GetDomain(), b.GetDomain()))
	})
	return projects
}

// positive are the amounts that are asked for.
func positive(amounts placement.Amounts) map[string]int64 {
	asked := map[string]int64{}
	for name, amount := range amounts {
		if amount > 0 {
			asked[name] = amount
		}
	}
	return asked
}
