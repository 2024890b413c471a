package operators

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Labels and annotations of the pods of a JobSet, as its controller sets them.
const (
	labelJobSet        = "jobset.sigs.k8s.io/jobset-name"
	labelReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
	labelRestart       = "jobset.sigs.k8s.io/restart-attempt"
	labelJobIndex      = "jobset.sigs.k8s.io/job-index"
	indexVariable      = "JOB_COMPLETION_INDEX"
)

// The conditions of a JobSet.
const (
	completed = "Completed"
	hasFailed = "Failed"
	suspended = "Suspended"
)

func jobSets() operator {
	return operator{
		name: "jobset", instead: "the JobSet controller", object: schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}, plural: "jobsets",
		plan: planJobSet,
		refuse: func(c *cluster, why string) map[string]any {
			return map[string]any{"conditions": c.conditions(hasFailed, "Refused", why)}
		},
	}
}

// place is one pod of a JobSet: an index of a Job of a replicated Job.
type place struct {
	number   int
	job      string
	replica  int
	index    int
	hostname string
	template map[string]any
}

// planJobSet runs all pods at once. If one fails, all are started again, as often as the failure policy says.
func planJobSet(_ context.Context, c *cluster) (plan, error) {
	if c.condition(completed) || c.condition(hasFailed) {
		return plan{}, nil
	}
	spec := field(c.object.Object, "spec")
	places := placesOf(c, spec)
	if err := c.fits(); err != nil {
		return plan{}, err
	}
	if flag(spec, "suspend") {
		return plan{remove: c.pods, status: map[string]any{"conditions": c.conditions(suspended, suspended, "the JobSet is suspended")}}, nil
	}
	restarts := number(c.object.Object, 0, "status", "restarts")
	succeeded, next := 0, plan{}
	for _, pod := range c.pods {
		switch run, _ := strconv.ParseInt(pod.Labels[labelRestart], 10, 64); {
		case run != restarts:
			next.remove = append(next.remove, pod)
		case pod.Status.Phase == corev1.PodSucceeded:
			succeeded++
		}
	}
	if len(next.remove) > 0 {
		// The next pods have the addresses of these.
		return next, nil
	}
	if bad := firstFailed(c.pods); bad != nil {
		return failJobSet(c, spec, restarts, bad), nil
	}
	if succeeded == len(places) {
		return plan{status: map[string]any{"conditions": c.conditions(completed, "AllJobsCompleted", "jobset completed successfully")}}, nil
	}
	for _, one := range places {
		pod, err := c.jobSetPod(one, restarts, spec)
		if err != nil {
			return plan{}, err
		}
		next.create = append(next.create, pod)
	}
	next.create = missing(c, next.create)
	next.status = map[string]any{"restarts": restarts}
	return next, nil
}

// failJobSet starts a JobSet again, or ends it.
func failJobSet(c *cluster, spec map[string]any, restarts int64, bad *corev1.Pod) plan {
	counted := number(c.object.Object, 0, "status", "restartsCountTowardsMax")
	free := isDisrupted(bad) && ignoresMaintenance(spec)
	if !free && counted >= number(spec, 0, "failurePolicy", "maxRestarts") {
		return plan{status: map[string]any{"conditions": c.conditions(hasFailed, "FailedJobs",
			fmt.Sprintf("jobset failed due to one or more job failures (first failed pod: %s)", bad.Name))}}
	}
	if !free {
		counted++
	}
	return plan{remove: c.pods, status: map[string]any{"restarts": restarts + 1, "restartsCountTowardsMax": counted}}
}

// isDisrupted reports whether a pod was stopped by its node.
func isDisrupted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(one corev1.PodCondition) bool {
		return one.Type == corev1.DisruptionTarget && one.Status == corev1.ConditionTrue
	})
}

// ignoresMaintenance reports whether restarts after a disruption do not count.
func ignoresMaintenance(spec map[string]any) bool {
	rules, _, _ := unstructured.NestedSlice(spec, "failurePolicy", "rules")
	return slices.ContainsFunc(rules, func(one any) bool {
		rule, _ := one.(map[string]any)
		return rule["action"] == "RestartJobSetAndIgnoreMaxRestarts"
	})
}

// firstFailed is the pod that failed before the others; nil if none did.
func firstFailed(pods []*corev1.Pod) *corev1.Pod {
	var bad []*corev1.Pod
	for _, pod := range pods {
		if failed(pod) {
			bad = append(bad, pod)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return slices.MinFunc(bad, func(a, b *corev1.Pod) int { return endOf(a).Compare(endOf(b)) })
}

func placesOf(c *cluster, spec map[string]any) []place {
	subdomain := cmp.Or(text(spec, "network", "subdomain"), c.object.GetName())
	groups, _, _ := unstructured.NestedSlice(spec, "replicatedJobs")
	var places []place
	for _, one := range groups {
		group, _ := one.(map[string]any)
		for replica := range int(number(group, 1, "replicas")) {
			job := field(group, "template", "spec")
			for index := range int(number(job, number(job, 1, "parallelism"), "completions")) {
				hostname := fmt.Sprintf("%s-%s-%d-%d", c.object.GetName(), text(group, "name"), replica, index)
				at := c.add(hostname, c.service(hostname+"."+subdomain)...)
				places = append(places, place{
					number: at, job: text(group, "name"), replica: replica, index: index, hostname: hostname, template: field(job, "template"),
				})
			}
		}
	}
	return places
}

func (c *cluster) jobSetPod(one place, restarts int64, spec map[string]any) (*corev1.Pod, error) {
	name := one.hostname
	if restarts > 0 {
		name += "-r" + strconv.FormatInt(restarts, 10)
	}
	pod, err := c.build(one.number, name, one.template)
	if err != nil {
		return nil, err
	}
	index := strconv.Itoa(one.index)
	pod.Labels[labelJobSet], pod.Labels[labelReplicatedJob] = c.object.GetName(), one.job
	pod.Labels[labelRestart], pod.Labels[labelJobIndex] = strconv.FormatInt(restarts, 10), strconv.Itoa(one.replica)
	pod.Labels[batchv1.JobCompletionIndexAnnotation], pod.Annotations[batchv1.JobCompletionIndexAnnotation] = index, index
	pod.Spec.Subdomain = cmp.Or(text(spec, "network", "subdomain"), c.object.GetName())
	give(pod, corev1.EnvVar{Name: indexVariable, Value: index})
	return pod, nil
}
