package schema

// Scope is a project and domain.
type Scope struct {
	Project, Domain string
}
