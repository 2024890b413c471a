package launch

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/obs/tracelink"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// effectiveRunSpec is the run spec of a new run: the requested one, completed by the settings of its project. It does
// not modify the request, and never returns nil. The result is fixed when the run is created: later changes of
// settings apply to later runs.
func (c *Creator) effectiveRunSpec(ctx context.Context, run ident.Run, requested *task.RunSpec) (*task.RunSpec, error) {
	if err := settings.CheckDefaults(requested.GetDefaultSettings()); err != nil {
		return nil, settings.InvalidArgument("run_spec.default_settings.", err)
	}
	resolved, err := c.Settings.Resolve(ctx, catalog.SettingsKey{Domain: run.Domain, Project: run.Project})
	if err != nil {
		return nil, err
	}
	spec := &task.RunSpec{}
	if requested != nil {
		spec = proto.CloneOf(requested)
	}
	settings.Apply(spec, resolved.Settings)
	carryTrace(ctx, spec)
	return spec, nil
}

// carryTrace makes the tasks of a run, and the spans of its actions, part of the trace of the call that creates it. A
// variable that a run spec has from an earlier run would name the trace of that one. Calls without a trace change nothing,
// so that equal specs are stored once.
func carryTrace(ctx context.Context, spec *task.RunSpec) {
	parent, recorded := tracelink.Of(ctx)
	if !recorded {
		return
	}
	kept := slices.DeleteFunc(spec.GetEnvs().GetValues(), func(pair *core.KeyValuePair) bool { return pair.GetKey() == tracelink.Variable })
	spec.Envs = &task.Envs{Values: append(kept, &core.KeyValuePair{Key: tracelink.Variable, Value: parent})}
}
