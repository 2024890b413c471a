package podsecret

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/internal/text/redact"
)

// Withheld takes the place of a message whose secrets may not be read.
const Withheld = "(the message is withheld, since it may have values of secrets that this server is not allowed to read)"

// Getter reads one Secret from the API server, with its errors.
type Getter func(ctx context.Context, namespace, name string) (*corev1.Secret, error)

// From returns a Getter that uses a reader. It must not be a cache, which would keep the values of all Secrets.
func From(live client.Reader) Getter {
	return func(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
		secret := &corev1.Secret{}
		return secret, live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	}
}

// Cleaner returns a function that replaces the values of the Secrets with these names in a text. A Secret that does not exist
// has given nothing to a pod. If one may not be read, the function withholds every text. Any other error means that nothing is
// known now: the caller tries again before it records a text.
func Cleaner(ctx context.Context, get Getter, namespace string, names []string) (func(string) string, error) {
	values := map[string][]byte{}
	for _, name := range names {
		secret, err := get(ctx, namespace, name)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			return withhold, nil
		case err != nil:
			return nil, fmt.Errorf("read Secret %s, to keep its values out of messages: %w", name, err)
		}
		for key, value := range secret.Data {
			values[key] = value
		}
	}
	return redact.New(values).Text, nil
}

func withhold(text string) string {
	if text == "" {
		return ""
	}
	return Withheld
}
