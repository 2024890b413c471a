package executor

import "github.com/flyte-binary/flyte-binary/pods/plugin"

// NewWith is New with plugins in addition to those that the configuration enables.
func NewWith(config Config, deps Deps, more ...plugin.Definition) (*Service, error) {
	return newService(config, deps, append(config.definitions(), more...))
}
