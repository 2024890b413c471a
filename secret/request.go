package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"

	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// MaxValue is the size of the largest value in bytes: a Kubernetes Secret has 1 MiB at most.
const MaxValue = 1<<20 - 4<<10

// idOf returns what an identifier names. The organization is ignored: an installation has one.
func idOf(named *secretpb.SecretIdentifier) (entry.ID, error) {
	id := entry.ID{Scope: entry.Scope{Project: named.GetProject(), Domain: named.GetDomain()}, Name: named.GetName()}
	if err := checkScope("id.", id.Scope); err != nil {
		return entry.ID{}, err
	}
	if !ident.IsSecretName(id.Name) {
		return entry.ID{}, rpc.InvalidArgument("id.name", "is not a valid secret name: a name %s, got %d characters", ident.SecretNameRule, len(id.Name))
	}
	return id, nil
}

// checkScope refuses a project without a domain.
func checkScope(prefix string, scope entry.Scope) error {
	if scope.Valid() {
		return nil
	}
	return rpc.InvalidArgument(prefix+"domain", "is required with a project: secrets of a project belong to one of its domains")
}

// contentOf returns what is to be stored. Text and bytes are stored alike. The errors do not have the value.
func contentOf(spec *secretpb.SecretSpec) (entry.Content, error) {
	var value []byte
	switch given := spec.GetValue().(type) {
	case *secretpb.SecretSpec_StringValue:
		value = []byte(given.StringValue)
	case *secretpb.SecretSpec_BinaryValue:
		value = given.BinaryValue
	}
	switch {
	case len(value) == 0:
		return entry.Content{}, rpc.InvalidArgument("secret_spec.value", "is required: a string or bytes that are not empty")
	case len(value) > MaxValue:
		return entry.Content{}, rpc.InvalidArgument("secret_spec.value", "must have at most %d bytes, got %d", MaxValue, len(value))
	}
	content := entry.Content{Value: entry.NewValue(value)}
	switch spec.GetType() {
	case secretpb.SecretType_SECRET_TYPE_GENERIC:
	case secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET:
		content.Type = entry.ImagePull
		if !isDockerConfig(value) {
			return entry.Content{}, rpc.InvalidArgument("secret_spec.value", `of an image pull secret must be a Docker configuration, {"auths": {REGISTRY: {"auth": …}}}`)
		}
	default:
		return entry.Content{}, rpc.InvalidArgument("secret_spec.type", "must be SECRET_TYPE_GENERIC or SECRET_TYPE_IMAGE_PULL_SECRET, got %d", int32(spec.GetType()))
	}
	return content, nil
}

func isDockerConfig(value []byte) bool {
	config := struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}{}
	return json.Unmarshal(value, &config) == nil && len(config.Auths) > 0
}

func typeOf(t entry.Type) secretpb.SecretType {
	if t == entry.ImagePull {
		return secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET
	}
	return secretpb.SecretType_SECRET_TYPE_GENERIC
}

// problem turns an error of a backend into one for clients. The value that was to be stored must not be in either.
func problem(backend string, id entry.ID, content entry.Content, err error) error {
	var large entry.TooLargeError
	var unavailable *entry.UnavailableError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, entry.ErrNotFound):
		return rpc.NotFound("%s does not exist", id)
	case errors.Is(err, entry.ErrExists):
		return rpc.AlreadyExists("%s already exists", id)
	case errors.Is(err, entry.ErrConflict):
		return rpc.Aborted("%s was changed concurrently; try again", id)
	case errors.As(err, &large):
		return rpc.InvalidArgument("secret_spec.value", "must have at most %d bytes in backend %s, got %d", large.Limit, backend, content.Value.Len())
	case errors.As(err, &unavailable):
		return rpc.Unavailable(withoutValue(err, content.Value), "secret backend %s is not available: %s", backend, unavailable.Words)
	}
	return rpc.Unavailable(withoutValue(err, content.Value), "secret backend %s is not available", backend)
}

// withoutValue replaces an error that quotes the value, as libraries may do.
func withoutValue(err error, value entry.Value) error {
	text := []byte(err.Error())
	for _, form := range [][]byte{value.Reveal(), []byte(base64.StdEncoding.EncodeToString(value.Reveal()))} {
		if len(form) > 0 && bytes.Contains(text, form) {
			return errors.New("the error of the backend is withheld, since it quotes the value")
		}
	}
	return err
}
