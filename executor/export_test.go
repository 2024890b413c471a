package executor

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// AbsencesWith is Absences with plugins in addition to those that the configuration enables.
func AbsencesWith(ctx context.Context, config Config, cluster *rest.Config, more ...plugin.Definition) ([]Absence, error) {
	return absencesOf(ctx, config, cluster, append(config.definitions(), more...))
}

// NewWith is New with plugins in addition to those that the configuration enables.
func NewWith(config Config, deps Deps, more ...plugin.Definition) (*Service, error) {
	return newService(config, deps, append(config.definitions(), more...))
}
