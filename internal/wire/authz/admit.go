package authz

// Admit decides what is known before any message: a procedure without a rule is denied, and one with a rule is for the kinds
// that it names. A service that calls on behalf of a caller may call what services may.
func Admit(name string, rule Rule, identity Identity, service bool) error {
	switch {
	case rule.By == 0:
		return Denied("no rule allows %s", name)
	case rule.By.Open() || rule.By.Has(identity.Kind) || service && rule.By.Has(Service):
		return nil
	case rule.By.Internal():
		return Denied("%s is internal", name)
	default:
		return Denied("%s is not for callers of the kind %s; it is for %s", name, identity.Kind, rule.By)
	}
}

// Asks reports whether the authoriser decides about an admitted call. The table alone decides about the parts of the
// installation: they have no roles.
func (r Rule) Asks(kind Kind) bool {
	return !r.By.Open() && by(Anonymous, User, Key, Task).Has(kind) && r.By&programs&^services != 0
}
