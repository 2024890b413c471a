package stack

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/tests/faults/operators"
)

// Object is a Job or the object of an operator.
type Object struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	// Run and Action are whose it is.
	Run, Action string
	// Stopping means that it is being deleted.
	Stopping bool
}

// String names the object.
func (o Object) String() string { return fmt.Sprintf("%s %s", o.Resource.Resource, o.Name) }

// Objects lists Jobs and the objects of operators in a cluster.
func (c *Cluster) Objects(ctx context.Context, options metav1.ListOptions) ([]Object, error) {
	var all []Object
	for _, resource := range append(operators.Resources(), batchv1.SchemeGroupVersion.WithResource("jobs")) {
		found, err := c.Metadata.Resource(resource).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for i := range found.Items {
			one := &found.Items[i]
			all = append(all, Object{
				Resource: resource, Namespace: one.Namespace, Name: one.Name, Run: one.Labels[v1.LabelRun], Action: one.Labels[v1.LabelAction],
				Stopping: one.DeletionTimestamp != nil,
			})
		}
	}
	return all, nil
}
