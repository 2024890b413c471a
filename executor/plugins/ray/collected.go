package ray

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// collected takes the Secrets of a cluster that does not exist yet. It creates none: the cluster will own them.
type collected struct {
	client.Writer
	made []*corev1.Secret
}

// Create implements client.Writer.
func (c *collected) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("a shared cluster has no %T", object)
	}
	// Groups of workers share a role, and so its Secrets.
	if !slices.ContainsFunc(c.made, func(has *corev1.Secret) bool { return has.Name == secret.Name }) {
		c.made = append(c.made, secret)
	}
	return nil
}
