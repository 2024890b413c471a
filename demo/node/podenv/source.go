package podenv

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Source reads what environments and volumes refer to. An object that does not exist is an error for which IsMissing
// holds.
type Source interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
}

// MissingError means that an object or a key of it does not exist (yet). The container waits; it has not failed.
type MissingError struct {
	Kind, Namespace, Name, Key string
}

// Error implements error.
func (m *MissingError) Error() string {
	if m.Key != "" {
		return fmt.Sprintf("%s %s/%s has no key %q", m.Kind, m.Namespace, m.Name, m.Key)
	}
	return fmt.Sprintf("%s %s/%s does not exist", m.Kind, m.Namespace, m.Name)
}

// IsMissing reports whether the error is a missing object, which may appear later.
func IsMissing(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing)
}

// optional drops the error of a missing object if the reference is optional.
func optional(err error, allowed *bool) error {
	if allowed != nil && *allowed && IsMissing(err) {
		return nil
	}
	return err
}

// ConfigData is the data of a ConfigMap, nil when it is optional and missing.
func ConfigData(ctx context.Context, s Source, namespace, name string, mayMiss *bool) (map[string][]byte, error) {
	object, err := s.ConfigMap(ctx, namespace, name)
	if err != nil {
		return nil, optional(err, mayMiss)
	}
	data := make(map[string][]byte, len(object.Data)+len(object.BinaryData))
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	for key, value := range object.BinaryData {
		data[key] = value
	}
	return data, nil
}

// SecretData is the data of a Secret, nil when it is optional and missing.
func SecretData(ctx context.Context, s Source, namespace, name string, mayMiss *bool) (map[string][]byte, error) {
	object, err := s.Secret(ctx, namespace, name)
	if err != nil {
		return nil, optional(err, mayMiss)
	}
	if object.Data == nil {
		return map[string][]byte{}, nil
	}
	return object.Data, nil
}
