package manager

import (
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// examineRights checks that this account may do in the cluster what a controller does for tasks and apps. Rights of plugins, of usage and
// of routes have findings of their own.
func examineRights(ctx context.Context, cluster *rest.Config, c configuration.Config) Finding {
	f := Finding{What: "rights", Detail: "this account may do what a controller does", Fix: "apply the RBAC of the chart, as helm template shows it, or rbac.create=true"}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		f.Err = err
		return f
	}
	if f.Err = lacking(ctx, client, c.Executor.Namespaces, taskRights(c)); f.Err != nil || !c.Replicas.Several {
		return f
	}
	f.Err = lacking(ctx, client, []string{ownNamespaceOf(c)}, rightsOn("coordination.k8s.io", "leases", "get", "create", "update"))
	return f
}

func ownNamespaceOf(c configuration.Config) string {
	if c.Replicas.Namespace != "" {
		return c.Replicas.Namespace
	}
	return configuration.OwnNamespace()
}

// taskRights are those on what tasks and apps have.
func taskRights(c configuration.Config) []authorizationv1.ResourceAttributes {
	status := rightsOn("flyte.org", "taskactions", "patch")
	status[0].Subresource = "status"
	logs := rightsOn("", "pods", "get")
	logs[0].Subresource = "log"
	all := slices.Concat(
		rightsOn("flyte.org", "taskactions", "get", "list", "watch", "create", "patch", "delete"), status,
		rightsOn("", "pods", "get", "list", "watch", "create", "patch", "delete"), logs,
		rightsOn("", "secrets", "get", "create", "delete", "deletecollection"),
		rightsOn("apps", "deployments", "get", "list", "watch", "create", "update", "patch", "delete"),
		rightsOn("", "services", "get", "list", "watch", "create", "patch", "delete"),
	)
	if len(c.Executor.Namespaces) == 0 {
		all = slices.Concat(all, rightsOn("", "nodes", "list"))
		if c.Actions.TaskActions.CreateNamespaces {
			all = slices.Concat(all, rightsOn("", "namespaces", "get", "create"))
		}
	}
	return all
}

func rightsOn(group, resource string, verbs ...string) []authorizationv1.ResourceAttributes {
	rights := make([]authorizationv1.ResourceAttributes, len(verbs))
	for i, verb := range verbs {
		rights[i] = authorizationv1.ResourceAttributes{Group: group, Resource: resource, Verb: verb}
	}
	return rights
}
