package rayclusters

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tries is how often a Secret is created again because another process did something at the same time.
const tries = 3

// CreateSecrets creates what the pods of a cluster refer to. Until then they wait.
func (c *Clusters) CreateSecrets(ctx context.Context, wanted *Wanted, uid types.UID) error {
	for _, secret := range wanted.Secrets {
		secret = secret.DeepCopy()
		secret.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: clusterKind.GroupVersion().String(), Kind: clusterKind.Kind, Name: wanted.Name, UID: uid,
		}}
		if err := c.secret(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// secret creates a Secret once. One of an earlier cluster of the same name is deleted: the garbage collector would do that later.
func (c *Clusters) secret(ctx context.Context, wanted *corev1.Secret) error {
	for range tries {
		err := c.deps.Writer.Create(ctx, wanted.DeepCopy())
		if !apierrors.IsAlreadyExists(err) {
			if err != nil {
				return fmt.Errorf("create Secret %s: %w", wanted.Name, err)
			}
			return nil
		}
		existing := &corev1.Secret{}
		if err := c.deps.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Secret %s: %w", wanted.Name, err)
		}
		owners := existing.OwnerReferences
		switch {
		case len(owners) == 1 && owners[0].UID == wanted.OwnerReferences[0].UID:
			return nil
		case existing.Name == "": // it is gone by now
			continue
		case len(owners) != 1 || owners[0].Kind != clusterKind.Kind:
			return fmt.Errorf("secret %s does not belong to a Ray cluster", wanted.Name)
		}
		if err := c.deps.Writer.Delete(ctx, existing, client.Preconditions{UID: &existing.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Secret %s of an earlier Ray cluster: %w", wanted.Name, err)
		}
	}
	return ErrEnding
}
