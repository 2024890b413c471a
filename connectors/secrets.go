package connectors

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Secrets reads the values of secrets; enginev1connect.SecretValueServiceClient does.
type Secrets interface {
	GetSecretValues(ctx context.Context, r *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error)
}

// keptFor is how long values are used before they are read again: one that was changed counts soon, and polls of many jobs
// cost little.
const keptFor = time.Minute

// place has the secrets of the tasks of a project and domain.
type place struct{ project, domain, name string }

type kept struct {
	value string
	found bool
	until time.Time
}

// secretsOf are the names of the secrets that a task asks for, by the names under which its connector gets them. The SDK's
// connectors describe theirs in the field custom, by the variable of a secret of the task or by the secret's name; the secret
// may also have the name that the connector gives it.
func secretsOf(template *core.TaskTemplate) map[string]string {
	names, variables := map[string]string{}, map[string]string{}
	for _, secret := range template.GetSecurityContext().GetSecrets() {
		name := secret.GetKey()
		if group := secret.GetGroup(); group != "" {
			name = group + "_" + name
		}
		names[secret.GetKey()] = name
		variables[secret.GetEnvVar()] = name
	}
	for key, value := range template.GetCustom().GetFields()["secrets"].GetStructValue().GetFields() {
		name := value.GetStringValue()
		if name == "" {
			continue
		}
		names[key] = cmp.Or(variables[name], name)
	}
	return names
}

// connection returns the values of a job's secrets. If a secret does not exist, it returns a *failure.Failure where all are
// required, and leaves the secret out otherwise.
func (w *worker) connection(ctx context.Context, j *store.Job, secrets map[string]string, all bool) (*core.Connection, error) {
	connection := &core.Connection{TaskType: j.TaskType}
	if len(secrets) == 0 {
		return connection, nil
	}
	values, err := w.values(ctx, j, slices.Concat(slices.Collect(maps.Values(secrets)), slices.Collect(maps.Keys(secrets))), all)
	if err != nil {
		return nil, err
	}
	connection.Secrets = map[string]string{}
	for key, name := range secrets {
		value, found := values[name]
		if !found {
			value, found = values[key]
		}
		if !found && all {
			return nil, failure.New(failure.SecretMissing, "%s", name)
		}
		if found {
			connection.Secrets[key] = value
		}
	}
	return connection, nil
}

// values reads secrets that exist; fresh ones do not come from memory.
func (w *worker) values(ctx context.Context, j *store.Job, names []string, fresh bool) (map[string]string, error) {
	slices.Sort(names)
	names = slices.Compact(names)
	found, now := map[string]string{}, w.deps.Clock.Now()
	id := func(name string) place { return place{j.Action.Run.Project, j.Action.Run.Domain, name} }
	unknown := slices.DeleteFunc(names, func(name string) bool {
		known, ok := w.secrets.Get(id(name))
		if !ok || fresh || !now.Before(known.until) {
			return false
		}
		if known.found {
			found[name] = known.value
		}
		return true
	})
	if len(unknown) == 0 {
		return found, nil
	}
	answer, err := w.deps.Secrets.GetSecretValues(ctx, &enginev1.GetSecretValuesRequest{
		Project: j.Action.Run.Project, Domain: j.Action.Run.Domain, Names: unknown,
	})
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	for _, one := range answer.GetValues() {
		found[one.GetName()] = string(one.GetValue())
	}
	for _, name := range unknown {
		value, ok := found[name]
		w.secrets.Add(id(name), kept{value, ok, now.Add(keptFor)})
	}
	return found, nil
}
