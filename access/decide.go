package access

import (
	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// configured is the author of the bindings of the configuration.
const configured = "configuration"

// LocalAdmin is the local account that is created first. It is an operator.
const LocalAdmin = "admin"

// policy is what the configuration says of roles and bindings.
func (c Config) policy() policy.Config {
	made := policy.Config{Ask: c.Ask}
	for _, role := range c.Roles {
		made.Roles = append(made.Roles, store.Role{
			Name: role.Name, Description: role.Description, Permissions: role.Permissions, Configured: true,
		})
	}
	for _, b := range c.Bindings {
		member := store.Member{Kind: store.UserMember, Name: b.User}
		if b.User == "" {
			member = store.Member{Kind: store.GroupMember, Name: b.Group}
		}
		made.Bindings = append(made.Bindings, store.Binding{
			Member: member, Role: b.Role, Project: b.Project, Domain: b.Domain, CreatedBy: configured,
		})
	}
	if c.Local.Enabled {
		made.Bindings = append(made.Bindings, store.Binding{
			Member: store.Member{Kind: store.UserMember, Name: c.localPrefix() + LocalAdmin}, Role: policy.Operator, CreatedBy: configured,
		})
	}
	return made
}

// validateRoles lists what is wrong with the roles and bindings.
func (c Config) validateRoles() error {
	var found invalid.Fields
	known := map[string]bool{}
	for _, role := range policy.BuiltIn() {
		known[role.Name] = true
	}
	for i, role := range c.Roles {
		found.If(role.Name == "", "roles[%d].name: is required", i)
		found.If(known[role.Name], "roles[%d].name: %q is the name of another role", i, role.Name)
		found.If(len(role.Permissions) == 0, "roles[%d].permissions: is required", i)
		for _, pattern := range role.Permissions {
			if err := policy.CheckPattern(pattern); err != nil {
				found.Add("roles[%d].permissions: %w", i, err)
			}
		}
		known[role.Name] = true
	}
	for i, b := range c.Bindings {
		found.If((b.User == "") == (b.Group == ""), "bindings[%d].user: exactly one of user and group is required", i)
		found.If(!known[b.Role], "bindings[%d].role: there is no role %q among the built-in ones and access.roles", i, b.Role)
		found.If(b.Role == policy.Operator && (b.Project != "" || b.Domain != ""),
			"bindings[%d].role: operator is for the whole installation: leave project and domain empty, or give admin", i)
	}
	return found.Err()
}

// Authoriser decides what callers may do.
func (s *Service) Authoriser() authz.Authoriser { return s.policy }

// Auditor records what callers do.
func (s *Service) Auditor() authz.Auditor { return s.audit }

// Records are the records of calls that are committed with what they are of.
func (s *Service) Records() *audit.Recorder { return s.audit }

// Limiter bounds what callers ask for.
func (s *Service) Limiter() authz.Limiter { return s.limits }

// Programs identifies programs by their API keys.
func (s *Service) Programs() authz.Authenticator { return s.keys }
