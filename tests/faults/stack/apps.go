package stack

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// labelApp is the deployer's, on everything that belongs to an app.
const labelApp = v1.Group + "/app"

// appResources are the kinds of objects that an app has, its pods last.
func appResources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "replicasets"},
		{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "pods"},
	}
}

// AppObjects lists what the clusters have of all apps.
func (s *Stack) AppObjects(ctx context.Context) ([]string, error) {
	var all []string
	for _, side := range s.Sides {
		for _, resource := range appResources() {
			found, err := side.Metadata.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: labelApp})
			if err != nil {
				return nil, fmt.Errorf("list %s of apps in %s: %w", resource.Resource, side.Name, err)
			}
			for i := range found.Items {
				all = append(all, fmt.Sprintf("%s %s in cluster %s", resource.Resource, found.Items[i].Name, side.Name))
			}
		}
	}
	return all, nil
}

// AppClusters are the clusters in which an app has pods that do not end, in the order of their names.
func (s *Stack) AppClusters(ctx context.Context, project, name string) ([]string, error) {
	var all []string
	for _, side := range s.Sides {
		selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: map[string]string{labelApp: name, v1.LabelProject: project}})
		found, err := side.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, fmt.Errorf("list pods of apps in %s: %w", side.Name, err)
		}
		for i := range found.Items {
			if found.Items[i].DeletionTimestamp == nil {
				all = append(all, side.Name)
				break
			}
		}
	}
	slices.Sort(all)
	return all, nil
}
