package script

// SecretEnv is the variable in which a task gets its secret.
const SecretEnv = "STORM_SECRET"

// AbsentSecret is the name of a secret that does not exist.
const AbsentSecret = "storm-absent"

// Secrets are the names of the secrets that exist.
func Secrets() []string { return []string{"storm-red", "storm-green", "storm-blue"} }

// SecretValue is the value of a secret of a tenant.
func (t Tenant) SecretValue(name string) string { return "the value of " + name + " of " + t.Content }
