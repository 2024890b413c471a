package launch

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// effectiveRunSpec is the run spec of a new run: the requested one, completed by the settings of its project. It does
// not modify the request, and never returns nil. The result is fixed when the run is created: later changes of
// settings apply to later runs.
func (c *Creator) effectiveRunSpec(ctx context.Context, run ident.Run, requested *task.RunSpec) (*task.RunSpec, error) {
	if err := settings.CheckDefaults(requested.GetDefaultSettings()); err != nil {
		return nil, settings.InvalidArgument("run_spec.default_settings.", err)
	}
	resolved, err := c.Settings.Resolve(ctx, store.SettingsKey{Domain: run.Domain, Project: run.Project})
	if err != nil {
		return nil, err
	}
	spec := &task.RunSpec{}
	if requested != nil {
		spec = proto.CloneOf(requested)
	}
	settings.Apply(spec, resolved.Settings)
	return spec, nil
}
