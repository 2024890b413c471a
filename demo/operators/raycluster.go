package operators

import (
	"context"
	"net"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var rayClusterKind = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}

// rayClusters keeps Ray clusters that end with no job.
func rayClusters(network network, config Config) operator {
	return operator{
		name: "ray", instead: "KubeRay", object: rayClusterKind, plural: "rayclusters",
		plan: func(ctx context.Context, c *cluster) (plan, error) {
			return newRayPlan(c, network, config, field(c.object.Object, "spec")).lasting(ctx)
		},
		refuse: func(_ *cluster, why string) map[string]any { return map[string]any{"state": "failed", "reason": why} },
	}
}

// lasting is the plan of a RayCluster: the head and its workers, each replaced when it ends.
func (r *rayPlan) lasting(ctx context.Context) (plan, error) {
	if flag(r.spec, "suspend") {
		return plan{remove: r.pods, status: map[string]any{"state": "suspended"}}, nil
	}
	name := r.object.GetName()
	r.head = r.add(name+"-head", append(r.service(name+"-head-svc"), r.service(name + "-head")[1:]...)...)
	starting := map[string]any{"state": ""}
	place, _, pause := r.successor(name + "-head")
	if pause > 0 {
		return plan{again: pause, status: starting}, nil
	}
	head, err := r.node(r.head, place, field(r.spec, "headGroupSpec"), "head")
	if err != nil {
		return plan{}, err
	}
	wanted := []*corev1.Pod{head}
	workers, again, err := r.workers()
	if err != nil {
		return plan{}, err
	}
	if err := r.fits(); err != nil {
		return plan{}, err
	}
	if !r.up(ctx) {
		return plan{create: missing(r.cluster, wanted), again: reachPoll, status: starting}, nil
	}
	return plan{create: missing(r.cluster, append(wanted, workers...)), again: again, status: map[string]any{
		"state": "ready", "head": map[string]any{"podIP": r.address(r.head), "podName": place},
	}}, nil
}

// selected is the name of the RayCluster that a RayJob uses; empty if it has a cluster of its own.
func selected(job *unstructured.Unstructured) string {
	return text(job.Object, "spec", "clusterSelector", labelRayCluster)
}

// headOf is the address of the head of the RayCluster that a RayJob uses; empty while it takes no jobs.
func headOf(ctx context.Context, c *cluster) (string, error) {
	found, err := c.find(ctx, rayClusterKind, selected(c.object))
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil || found.GetDeletionTimestamp() != nil || text(found.Object, "status", "state") != "ready" {
		return "", err
	}
	return text(found.Object, "status", "head", "podIP"), nil
}

func dashboardOf(head string) string { return "http://" + net.JoinHostPort(head, dashboardPort) }

// inOther is the plan of a RayJob that uses the cluster of another object: the pod that submits.
func (r *rayPlan) inOther(ctx context.Context) (plan, error) {
	if state := text(r.object.Object, "status", "jobDeploymentStatus"); state == "Complete" || state == "Failed" {
		return plan{}, nil
	}
	var err error
	if r.headAt, err = headOf(ctx, r.cluster); err != nil {
		return plan{}, err
	}
	name := r.object.GetName()
	r.submitter = r.add(name + "-submitter")
	if submits := r.pod(name + "-submitter"); submits != nil && ended(submits) {
		return r.ended(ctx, submits), nil
	}
	if r.headAt == "" {
		if r.pod(name+"-submitter") != nil {
			return plan{status: rayStatus("Running", "RUNNING", "", "")}, nil
		}
		return plan{again: reachPoll, status: rayStatus("Initializing", "", "", "")}, nil
	}
	submits, err := r.submits(field(r.object.Object, "spec"))
	if err != nil {
		return plan{}, err
	}
	give(submits, corev1.EnvVar{Name: "RAY_DASHBOARD_ADDRESS", Value: net.JoinHostPort(r.headAt, dashboardPort)}, corev1.EnvVar{Name: "RAY_JOB_SUBMISSION_ID", Value: name})
	return plan{create: missing(r.cluster, []*corev1.Pod{submits}), status: rayStatus("Running", "RUNNING", "", "")}, nil
}

// stopJob stops the job of a RayJob that is deleted before its end, as far as the head can be reached.
func stopJob(ctx context.Context, c *cluster, network network) {
	if state := text(c.object.Object, "status", "jobDeploymentStatus"); state == "Complete" || state == "Failed" {
		return
	}
	if head, err := headOf(ctx, c); err == nil && head != "" {
		network.Post(ctx, dashboardOf(head)+"/api/jobs/"+c.object.GetName()+"/stop")
	}
}
