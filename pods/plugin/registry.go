package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
)

// ConfigKey is the entry of the config of a task template, or of its container, that names the plugin of the task. It wins over
// the configuration of the executor.
const ConfigKey = "plugin"

// Routes says which plugin runs which attempts.
type Routes struct {
	// Default is the name of the plugin of all other task types that are one container.
	Default string
	// TaskTypes are names of plugins by task type, as an administrator configured them.
	TaskTypes map[string]string
	// Made are names of plugins by the task types that they are made for. TaskTypes take precedence.
	Made map[string]string
}

// Registry selects the plugin of an attempt.
type Registry struct {
	plugins []Plugin
	byName  map[string]Plugin
	routes  Routes
}

// NewRegistry returns a registry of the plugins. It refuses duplicate names and routes to unknown plugins.
func NewRegistry(routes Routes, plugins ...Plugin) (*Registry, error) {
	r := &Registry{plugins: plugins, byName: map[string]Plugin{}, routes: routes}
	for _, one := range plugins {
		if r.byName[one.Name()] != nil {
			return nil, fmt.Errorf("plugin %q: registered twice", one.Name())
		}
		r.byName[one.Name()] = one
	}
	if r.byName[routes.Default] == nil {
		return nil, fmt.Errorf("default plugin %q: not one of %s", routes.Default, r.names())
	}
	for _, types := range []map[string]string{routes.TaskTypes, routes.Made} {
		for _, taskType := range slices.Sorted(maps.Keys(types)) {
			if name := types[taskType]; r.byName[name] == nil {
				return nil, fmt.Errorf("plugin %q of task type %q: not one of %s", name, taskType, r.names())
			}
		}
	}
	return r, nil
}

// For returns the plugin of an attempt: the one that its task names, else that of its task type, else the default. A
// task of a type that no one serves, or that names a plugin that is not enabled, gets one that fails every attempt and
// says so.
func (r *Registry) For(attempt *Attempt) Plugin {
	taskType := attempt.Template.GetType()
	if words := tasktype.NewSet(r.routes.TaskTypes, r.routes.Made).Refusal(attempt.Template); words != "" {
		return refusing{name: taskType, words: words}
	}
	if name := chosen(attempt.Template); name != "" {
		if named := r.byName[name]; named != nil {
			return named
		}
		words := fmt.Sprintf("the task asks for plugin %q, which this installation has not enabled; enabled are: %s", name, r.names())
		return refusing{name: name, words: words}
	}
	for _, types := range []map[string]string{r.routes.TaskTypes, r.routes.Made} {
		if name, routed := types[taskType]; routed {
			return r.byName[name]
		}
	}
	return r.byName[r.routes.Default]
}

// chosen is the plugin that a task names; empty if it names none. The Python SDK puts what a task's config method returns into
// the container. Other clients use the template.
func chosen(template *core.TaskTemplate) string {
	if name := template.GetConfig()[ConfigKey]; name != "" {
		return name
	}
	for _, pair := range template.GetContainer().GetConfig() { //nolint:staticcheck // the SDK sends it
		if pair.GetKey() == ConfigKey {
			return pair.GetValue()
		}
	}
	return ""
}

// All returns every plugin once.
func (r *Registry) All() []Plugin { return slices.Clone(r.plugins) }

func (r *Registry) names() string { return strings.Join(slices.Sorted(maps.Keys(r.byName)), ", ") }

// refusing represents a plugin that the executor does not have.
type refusing struct{ name, words string }

func (r refusing) Name() string { return r.name }

func (r refusing) Advance(context.Context, *Attempt) (State, error) {
	return Lost(failure.New(failure.BadTaskSpecification, "%s", r.words)), nil
}

func (r refusing) Remove(context.Context, *Attempt) error { return nil }
