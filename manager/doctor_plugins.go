package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// examinePlugins checks that the cluster serves the types of the enabled plugins: one finding for each plugin that cannot run, or
// one for all.
func examinePlugins(ctx context.Context, cluster *rest.Config, c executor.Config) []Finding {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	absent, err := executor.Absences(ctx, c, cluster)
	if err != nil {
		return []Finding{{What: "plugins", Err: err, Fix: fixClusterFirst}}
	}
	if len(absent) == 0 {
		return []Finding{{What: "plugins", Detail: "the cluster serves the types of " + strings.Join(c.Plugins.Enabled, ", ")}}
	}
	return missingPlugins(absent)
}

func missingPlugins(absent []executor.Absence) []Finding {
	findings := make([]Finding, len(absent))
	for i, one := range absent {
		fix := "grant this account the rights of the plugin, see docs/plugins.md"
		if one.Install != "" {
			fix = "install " + one.Install
		}
		findings[i] = Finding{
			What: "plugin " + one.Plugin, Err: errors.New(one.Why),
			Fix: fmt.Sprintf("%s, or remove %s from executor.plugins.enabled; until then its tasks wait", fix, one.Plugin),
		}
	}
	return findings
}

// examineUsage checks that the server may read what tasks use, and what the cluster says about their pods. Tasks run without both, so
// what is missing is said, and is not a problem.
func examineUsage(ctx context.Context, cluster *rest.Config, c executor.Config) []Finding {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return []Finding{{What: "usage of tasks", Err: err, Fix: fixClusterFirst}}
	}
	var findings []Finding
	if c.Events {
		f := Finding{What: "Events of pods", Detail: "are shown among the events of actions"}
		events := []authorizationv1.ResourceAttributes{{Verb: "list", Resource: "events"}, {Verb: "watch", Resource: "events"}}
		if err := lacking(ctx, client, c.Namespaces, events); err != nil {
			f.Detail = fmt.Sprintf("are not shown: %v; grant list and watch on events, or set executor.events to false", err)
		}
		findings = append(findings, f)
	}
	if c.Measure.Interval > 0 {
		findings = append(findings, Finding{What: "usage of tasks", Detail: sourceOfUsage(ctx, client, c)})
	}
	return findings
}

// sourceOfUsage says from where the server reads what tasks use, or why it cannot.
func sourceOfUsage(ctx context.Context, client kubernetes.Interface, c executor.Config) string {
	missing := ""
	if c.Measure.Kubelets {
		err := lacking(ctx, client, nil, []authorizationv1.ResourceAttributes{{Verb: "get", Resource: "nodes", Subresource: "proxy"}})
		if err == nil {
			return "is read from the summaries of kubelets"
		}
		missing = fmt.Sprintf("; the summaries of kubelets cannot be read: %v", err)
	}
	err := lacking(ctx, client, c.Namespaces, []authorizationv1.ResourceAttributes{{Verb: "list", Group: "metrics.k8s.io", Resource: "pods"}})
	if err == nil {
		if _, err = client.Discovery().ServerResourcesForGroupVersion("metrics.k8s.io/v1beta1"); err == nil {
			return "is read from the metrics API" + missing
		}
		err = errors.New("the cluster has no metrics API")
	}
	return fmt.Sprintf("is not measured: %v%s; install metrics-server and grant list on pods of metrics.k8s.io, or set executor.measure.interval to 0", err, missing)
}

// lacking is the first right that this account lacks in one of the namespaces; nil if it has all. No namespaces mean all of them.
func lacking(ctx context.Context, client kubernetes.Interface, namespaces []string, rights []authorizationv1.ResourceAttributes) error {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		for _, right := range rights {
			right.Namespace = namespace
			review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
				&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask for the rights of this account: %w", err)
			}
			if !review.Status.Allowed {
				name := strings.TrimSuffix(right.Resource+"/"+right.Subresource, "/")
				where := "in the whole cluster"
				if namespace != metav1.NamespaceAll {
					where = "in namespace " + namespace
				}
				return fmt.Errorf("this account may not %s %s %s", right.Verb, strings.TrimSuffix(name+"."+right.Group, "."), where)
			}
		}
	}
	return nil
}

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
