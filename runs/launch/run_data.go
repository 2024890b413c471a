package launch

import (
	"context"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// stepBase gives a run that names no base directory one that the clusters reach to which it may go. It is not part of the spec, since a
// rerun may go elsewhere.
func (c *Creator) stepBase(_ context.Context, p *preparedRun) error {
	p.base = p.spec.GetRunBaseDir()
	if c.Planner.Clusters == nil || p.base != "" {
		return nil
	}
	queue := c.Planner.Queues.Of(p.root.Queue)
	p.base = c.Planner.Clusters.Policy().Base(&placement.Request{
		Project: p.id.Project, Domain: p.id.Domain, Queue: queue.Name, Pin: queue.Cluster, Pool: p.spec.GetClusterPool(), Labels: p.spec.GetLabels().GetValues(),
	}, c.Planner.Clusters.Clusters())
	return nil
}

// stepData notes in which stores the files and data frames among the inputs are, where not all clusters reach all stores.
func (c *Creator) stepData(ctx context.Context, p *preparedRun) error {
	delete(p.spec.GetAnnotations().GetValues(), ident.AnnotationStores)
	if c.Planner.Clusters == nil || !c.Planner.Clusters.Policy().Divided() {
		return nil
	}
	given := p.request.GetInputs()
	if offloaded := p.request.GetOffloadedInputData(); offloaded != nil {
		var err error
		if given, err = c.offloadedInputs(ctx, offloaded.GetUri()); err != nil {
			return err
		}
	}
	var uris []string
	for _, literal := range withDefaults(replacing(given, p.from.inputs), p.planned.spec.GetDefaultInputs()).GetLiterals() {
		uris = append(uris, artifactref.URIs(literal.GetValue())...)
	}
	stores := c.Planner.Clusters.Policy().StoresOf(uris)
	if len(stores) == 0 {
		return nil
	}
	if p.spec.GetAnnotations().GetValues() == nil {
		p.spec.Annotations = &task.Annotations{Values: map[string]string{}}
	}
	p.spec.Annotations.Values[ident.AnnotationStores] = strings.Join(stores, " ")
	return nil
}
