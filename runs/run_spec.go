package runs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// effectiveRunSpec is the run spec that a run gets: the requested one, completed by the settings of its project. The
// request is left as it is; the result is never nil. It is settled once, when the run is made: later changes of settings
// concern later runs.
func (s *Service) effectiveRunSpec(ctx context.Context, run ident.Run, requested *task.RunSpec) (*task.RunSpec, error) {
	if err := settings.CheckDefaults(requested.GetDefaultSettings()); err != nil {
		return nil, fieldError("run_spec.default_settings.", err)
	}
	resolved, err := s.settings.resolve(ctx, store.SettingsKey{Domain: run.Domain, Project: run.Project})
	if err != nil {
		return nil, err
	}
	spec := &task.RunSpec{}
	if requested != nil {
		spec = proto.CloneOf(requested)
	}
	settings.Apply(spec, resolved.settings)
	return spec, nil
}
