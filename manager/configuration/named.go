package configuration

import "slices"

// NamedClusters are the clusters that the configuration names, each with the settings that do.
func (c Config) NamedClusters() map[string][]string {
	named := map[string][]string{}
	add := func(setting string, clusters ...string) {
		for _, name := range clusters {
			if name != "" && !slices.Contains(named[name], setting) {
				named[name] = append(named[name], setting)
			}
		}
	}
	for _, queue := range c.Runs.Queues {
		add("runs.queues", queue.Cluster)
	}
	for _, rule := range c.Runs.Placement.Rules {
		add("runs.placement.rules", rule.Cluster)
	}
	for _, one := range c.Runs.Placement.Stores {
		add("runs.placement.stores", one.Clusters...)
	}
	add("gateway.near", c.Gateway.Near...)
	for _, one := range c.Clusters {
		add("clusters", one.ID)
	}
	return named
}
