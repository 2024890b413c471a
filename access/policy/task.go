package policy

import "github.com/flyte-binary/flyte-binary/internal/wire/authz"

// decideTask decides about the process of an attempt. It needs no bindings.
func decideTask(identity authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	return authz.Scope{}, authz.Denied("%s is not allowed on %s to tasks", rule.Action, resource)
}
