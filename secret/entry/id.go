package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Scope is where a secret belongs: the organization, a domain, or a project in a domain. The zero value is the
// organization.
type Scope struct{ Project, Domain string }

// Valid reports whether there is such a scope: a project has one in each domain, and none without.
func (s Scope) Valid() bool { return s.Project == "" || s.Domain != "" }

// String is for people.
func (s Scope) String() string {
	switch {
	case s.Project != "":
		return fmt.Sprintf("project %s in domain %s", s.Project, s.Domain)
	case s.Domain != "":
		return "domain " + s.Domain
	}
	return "the organization"
}

// Chain returns the scopes in which a task of this scope finds secrets, the narrowest first.
func (s Scope) Chain() []Scope {
	var chain []Scope
	if s.Project != "" {
		chain = append(chain, s)
	}
	if s.Domain != "" {
		chain = append(chain, Scope{Domain: s.Domain})
	}
	return append(chain, Scope{})
}

// Contains reports whether other is this scope or below it.
func (s Scope) Contains(other Scope) bool {
	return (s.Domain == "" || s.Domain == other.Domain) && (s.Project == "" || s.Project == other.Project)
}

// none takes the place of a domain or a project in a path. No project or domain has this name.
const none = "-"

// Prefix is what the paths of all secrets in this scope and below begin with: empty, or parts that end with a slash.
func (s Scope) Prefix() string {
	switch {
	case s.Project != "":
		return s.Domain + "/" + s.Project + "/"
	case s.Domain != "":
		return s.Domain + "/"
	}
	return ""
}

// ID names a secret.
type ID struct {
	Scope
	Name string
}

// String is for people.
func (id ID) String() string { return fmt.Sprintf("secret %s of %s", id.Name, id.Scope) }

// Path is a path of three parts that no other secret has: domain, project, name.
func (id ID) Path() string {
	domain, project := id.Domain, id.Project
	if domain == "" {
		domain = none
	}
	if project == "" {
		project = none
	}
	return domain + "/" + project + "/" + id.Name
}

// ParsePath is the reverse of Path; false for anything else.
func ParsePath(path string) (ID, bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return ID{}, false
	}
	id := ID{Scope: Scope{Domain: parts[0], Project: parts[1]}, Name: parts[2]}
	if id.Domain == none {
		id.Domain = ""
	}
	if id.Project == none {
		id.Project = ""
	}
	return id, id.Valid()
}

// Digest is a name of 40 hexadecimal digits, for stores whose names are short or have few characters.
func (id ID) Digest() string {
	sum := sha256.Sum256([]byte(id.Path()))
	return hex.EncodeToString(sum[:20])
}
