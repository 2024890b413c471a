package executor

import (
	"context"
	"maps"
	"slices"

	"github.com/flyte-binary/flyte-binary/executor/capacity"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
)

// Offer says which plugins run here, and the types of tasks that they are configured for or made for. A plugin whose types the cluster
// does not serve is left out. Both are in alphabetical order.
func (s *Service) Offer(ctx context.Context) (plugins, taskTypes []string, err error) {
	present, _, err := s.presence.look(ctx, s.presence.interval)
	if err != nil {
		return nil, nil, err
	}
	for _, definition := range present {
		plugins = append(plugins, definition.Name)
	}
	byType := made(s.presence.definitions)
	maps.Copy(byType, s.config.Plugins.byType())
	for taskType, by := range byType {
		if slices.Contains(plugins, by) {
			taskTypes = append(taskTypes, taskType)
		}
	}
	slices.Sort(plugins)
	slices.Sort(taskTypes)
	return plugins, taskTypes, nil
}

// Nodes says what the nodes of the cluster have. It is nothing where the executor is kept to some namespaces, since it has then no right
// to see nodes.
func (s *Service) Nodes(ctx context.Context) (*clustersv1.NodeSummary, error) {
	if len(s.config.Namespaces) > 0 {
		return &clustersv1.NodeSummary{}, nil
	}
	return capacity.Read(ctx, s.clientset)
}
