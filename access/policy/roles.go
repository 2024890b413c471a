package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// The names of the built-in roles.
const (
	Viewer      = "viewer"
	Runner      = "runner"
	Contributor = "contributor"
	Admin       = "admin"
	// Operator holds for the installation only.
	Operator = "operator"
)

// levels are the built-in roles; each has the permissions of those before it.
var levels = []struct {
	name, description string
	permissions       []string
}{
	{Viewer, "sees runs, their data and logs, tasks, triggers, apps and artifacts, and uses apps", []string{
		"action.view", "app.call", "app.view", "artifact.view", "cluster.select", "data.view", "domain.view", "identity.update", "identity.view", "image.view",
		"key.create", "key.revoke", "key.view", "log.view", "notification.view", "pool.view", "project.view", "queue.view", "role.view", "run.view", "settings.view", "task.view",
		"translator.use", "trigger.view",
	}},
	{Runner, "also starts, aborts and signals runs", []string{
		"action.abort", "action.enqueue", "action.report", "action.signal", "action.update", "data.upload", "notification.retry", "run.abort",
		"run.create", "view.delete", "view.update",
	}},
	{Contributor, "also deploys tasks, triggers and apps, keeps artifacts and secrets, and evicts entries of the cache", []string{
		"app.create", "app.delete", "app.update", "artifact.create", "artifact.delete", "cache.evict", "secret.create", "secret.delete", "secret.update",
		"secret.view", "task.deploy", "trigger.backfill", "trigger.delete", "trigger.deploy", "trigger.update",
	}},
	{Admin, "also changes the project and its settings, gives roles, and reads what was done", []string{
		"access.explain", "audit.view", "binding.create", "binding.delete", "binding.view", "project.create", "project.update",
		"settings.create", "settings.update",
	}},
	{Operator, "does everything in the installation", []string{all}},
}

// BuiltIn are the roles that come with the product.
func BuiltIn() []store.Role {
	roles := make([]store.Role, 0, len(levels))
	var permissions []string
	for _, level := range levels {
		permissions = slices.Sorted(slices.Values(append(slices.Clone(permissions), level.permissions...)))
		role := store.Role{Name: level.name, Description: level.description, Permissions: permissions, BuiltIn: true}
		if level.name == Operator {
			role.Permissions = level.permissions
		}
		roles = append(roles, role)
	}
	return roles
}

// IsBuiltIn reports whether a role of this name comes with the product.
func IsBuiltIn(name string) bool {
	return slices.ContainsFunc(BuiltIn(), func(role store.Role) bool { return role.Name == name })
}

var patternForm = regexp.MustCompile(`^([a-z]+|\*)\.([a-z]+|\*)$`)

// CheckPattern returns an error for a pattern of permissions that no permission matches.
func CheckPattern(pattern string) error {
	if !patternForm.MatchString(pattern) {
		return fmt.Errorf("want noun.verb, noun.* or *.verb, such as run.view, got %q", pattern)
	}
	if ofOperators(pattern) {
		return fmt.Errorf("%s is for operators alone: accounts have passwords and groups, to which others have given rights", pattern)
	}
	if !slices.ContainsFunc(Permissions(), func(permission string) bool { return gives([]string{pattern}, permission) }) {
		return fmt.Errorf("no permission is %q", pattern)
	}
	return nil
}

// The permissions that handlers ask for.
const (
	// KeyAdminister is to list and revoke the keys of others.
	KeyAdminister = "key.administer"
	// AccessExplain is to learn what others may do, and why.
	AccessExplain = "access.explain"
)

// Permissions are all that there are, in alphabetical order.
func Permissions() []string { return permissions }

var permissions = slices.Compact(slices.Sorted(slices.Values(append(authz.Permissions(), KeyAdminister, AccessExplain))))

// all is the pattern of every permission.
const all = "*.*"

// ofOperators reports whether only roles with every permission have a permission: to decide about local accounts. Who makes an account, or sets
// its password or its groups, can sign in with whatever was given to it and to these groups.
func ofOperators(permission string) bool {
	return slices.Contains([]string{"account.create", "account.delete", "account.update"}, permission)
}

// gives reports whether patterns include a permission.
func gives(patterns []string, permission string) bool {
	if ofOperators(permission) {
		return slices.Contains(patterns, all)
	}
	noun, verb, _ := strings.Cut(permission, ".")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == permission {
			return true
		}
		n, v, _ := strings.Cut(pattern, ".")
		return (n == "*" || n == noun) && (v == "*" || v == verb)
	})
}

// Expand are the permissions that a role gives, in alphabetical order.
func Expand(role store.Role) (given []string) {
	for _, permission := range permissions {
		if gives(role.Permissions, permission) {
			given = append(given, permission)
		}
	}
	return given
}

func comparePlaces(a, b authz.Place) int {
	return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Domain, b.Domain))
}
