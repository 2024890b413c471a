package attemptsecret

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Wanted is one secret that a task asks for.
type Wanted struct {
	// Name is that of the secret in SecretService, and of its entry in the Kubernetes Secret of the attempt.
	Name string
	// Variable is the environment variable that gets the value, or the path of the file if there is one; may be empty for
	// a file.
	Variable string
	// File is the path below the directory of secrets; empty for a variable.
	File string
}

// WantedBy returns the secrets that a task asks for, in its order. A *failure.Failure says what cannot be asked for.
func WantedBy(template *core.TaskTemplate) ([]Wanted, error) {
	return wantedOf(template.GetSecurityContext().GetSecrets())
}

func wantedOf(secrets []*core.Secret) ([]Wanted, error) {
	var result []Wanted
	for _, secret := range secrets {
		one, err := wanted(secret)
		if err != nil {
			return nil, err
		}
		result = append(result, one)
	}
	return result, nil
}

// IsFile reports whether a secret becomes a file, not a variable.
func IsFile(secret *core.Secret) bool {
	return secret.GetMountRequirement() == core.Secret_FILE || secret.GetMountRequirement() == core.Secret_ANY && secret.GetEnvVar() == ""
}

// wanted reads one secret. A key with a group is the secret GROUP_KEY, as its default variable says, too; its file is
// GROUP/KEY.
func wanted(secret *core.Secret) (Wanted, error) {
	group, key := secret.GetGroup(), secret.GetKey()
	one := Wanted{Name: key, Variable: secret.GetEnvVar()}
	if group != "" {
		one.Name = group + "_" + key
	}
	if !ident.IsSecretName(key) || !ident.IsSecretName(one.Name) {
		return Wanted{}, failure.New(failure.BadTaskSpecification, "%q cannot name a secret: a name %s", one.Name, ident.SecretNameRule)
	}
	if IsFile(secret) {
		one.File = path.Join(group, key)
	} else if one.Variable == "" {
		one.Variable = strings.ToUpper(strings.ReplaceAll(one.Name, "-", "_"))
	}
	if one.Variable != "" && len(validation.IsRelaxedEnvVarName(one.Variable)) > 0 {
		return Wanted{}, failure.New(failure.BadTaskSpecification, "secret %q cannot be variable %q", one.Name, one.Variable)
	}
	return one, nil
}
