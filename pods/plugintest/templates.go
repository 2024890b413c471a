package plugintest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PodTemplates reads PodTemplates from memory, and nothing else.
type PodTemplates struct {
	client.Reader
	// All of them, by namespace/name.
	All map[string]*corev1.PodTemplate
	// Reads counts reads.
	Reads int
	// Fail, where set, is the error of every read.
	Fail error
}

// Get implements client.Reader.
func (c *PodTemplates) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	template, ok := into.(*corev1.PodTemplate)
	if !ok {
		return fmt.Errorf("unexpected read of a %T", into)
	}
	c.Reads++
	found := c.All[key.String()]
	switch {
	case c.Fail != nil:
		return c.Fail
	case found == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "podtemplates"}, key.Name)
	}
	found.DeepCopyInto(template)
	return nil
}
