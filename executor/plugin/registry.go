package plugin

import "fmt"

// Registry finds the plugin of a task type.
type Registry struct {
	byType   map[string]Plugin
	fallback Plugin
}

// NewRegistry makes a registry whose fallback serves every type that no other plugin serves.
func NewRegistry(fallback Plugin) *Registry {
	return &Registry{byType: map[string]Plugin{}, fallback: fallback}
}

// Add lets a plugin serve task types. A type is served by one plugin only.
func (r *Registry) Add(plugin Plugin, taskTypes ...string) error {
	for _, taskType := range taskTypes {
		if other, taken := r.byType[taskType]; taken {
			return fmt.Errorf("task type %q: served by %s already, not by %s", taskType, other.Name(), plugin.Name())
		}
		r.byType[taskType] = plugin
	}
	return nil
}

// For is the plugin of a task type.
func (r *Registry) For(taskType string) Plugin {
	if plugin, ok := r.byType[taskType]; ok {
		return plugin
	}
	return r.fallback
}

// All are the plugins, each once, the fallback first.
func (r *Registry) All() []Plugin {
	result := []Plugin{r.fallback}
	seen := map[Plugin]bool{r.fallback: true}
	for _, plugin := range r.byType {
		if !seen[plugin] {
			seen[plugin] = true
			result = append(result, plugin)
		}
	}
	return result
}
