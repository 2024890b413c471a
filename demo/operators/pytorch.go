package operators

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What the Kubeflow training operator sets in the pods of a job.
const (
	labelTrainingJob   = "training.kubeflow.org/job-name"
	labelTrainingRole  = "training.kubeflow.org/replica-type"
	labelTrainingIndex = "training.kubeflow.org/replica-index"
	trainingPort       = "23456"
)

func pyTorchJobs() operator {
	return operator{
		name: "pytorch", instead: "the Kubeflow training operator", object: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}, plural: "pytorchjobs",
		plan: planPyTorch,
		refuse: func(c *cluster, why string) map[string]any {
			return map[string]any{"conditions": c.conditions(hasFailed, "Refused", why)}
		},
	}
}

// planPyTorch runs all pods at once. The job ends when its master ends, or all workers of an elastic one do.
func planPyTorch(_ context.Context, c *cluster) (plan, error) {
	if c.condition("Succeeded") || c.condition(hasFailed) {
		return plan{}, nil
	}
	spec := field(c.object.Object, "spec")
	if flag(spec, "runPolicy", "suspend") {
		return plan{remove: c.pods, status: map[string]any{"conditions": c.conditions(suspended, suspended, "the job is suspended")}}, nil
	}
	places := trainingPlaces(c, spec)
	if err := c.fits(); err != nil {
		return plan{}, err
	}
	if bad := firstFailed(c.pods); bad != nil {
		return plan{status: map[string]any{"conditions": c.conditions(hasFailed, "PyTorchJobFailed", fmt.Sprintf("pod %s failed", bad.Name))}}, nil
	}
	done, wanted := true, []*corev1.Pod{}
	for _, one := range places {
		pod, err := one.pod(c, spec, len(places))
		if err != nil {
			return plan{}, err
		}
		wanted = append(wanted, pod)
		if old := c.pod(pod.Name); one.decides && (old == nil || !ended(old)) {
			done = false
		}
	}
	if done {
		return plan{status: map[string]any{"conditions": c.conditions("Succeeded", "PyTorchJobSucceeded", "the job is successfully completed")}}, nil
	}
	return plan{create: missing(c, wanted), status: map[string]any{"conditions": c.conditions("Running", "PyTorchJobRunning", "the job runs")}}, nil
}

// trainingPlace is one process group of a job.
type trainingPlace struct {
	number, rank int
	role         string
	index        int
	decides      bool // its end is that of the job
	replicas     map[string]any
}

func trainingPlaces(c *cluster, spec map[string]any) []trainingPlace {
	roles := field(spec, "pytorchReplicaSpecs")
	var places []trainingPlace
	_, master := roles["Master"]
	for _, role := range []string{"Master", "Worker"} {
		replicas := field(roles, role)
		if replicas == nil {
			continue
		}
		for index := range int(number(replicas, 1, "replicas")) {
			short := strings.ToLower(role)
			hostname := fmt.Sprintf("%s-%s-%d", c.object.GetName(), short, index)
			at := c.add(hostname, c.service(hostname)[1:]...)
			places = append(places, trainingPlace{
				number: at, rank: len(places), role: short, index: index, decides: !master || role == "Master", replicas: replicas,
			})
		}
	}
	return places
}

func (p trainingPlace) pod(c *cluster, spec map[string]any, size int) (*corev1.Pod, error) {
	pod, err := c.build(p.number, c.members[p.number].hostname, field(p.replicas, "template"))
	if err != nil {
		return nil, err
	}
	pod.Labels[labelTrainingJob], pod.Labels[labelTrainingRole], pod.Labels[labelTrainingIndex] = c.object.GetName(), p.role, strconv.Itoa(p.index)
	pod.Spec.RestartPolicy = corev1.RestartPolicy(text(p.replicas, "restartPolicy"))
	first := c.address(0)
	variables := []corev1.EnvVar{{Name: "PYTHONUNBUFFERED", Value: "1"}}
	if elastic := field(spec, "elasticPolicy"); elastic != nil {
		least, most := number(elastic, int64(size), "minReplicas"), number(elastic, int64(size), "maxReplicas")
		variables = append(variables,
			corev1.EnvVar{Name: "PET_RDZV_ENDPOINT", Value: net.JoinHostPort(first, trainingPort)},
			corev1.EnvVar{Name: "PET_RDZV_BACKEND", Value: text(elastic, "rdzvBackend")},
			corev1.EnvVar{Name: "PET_RDZV_ID", Value: c.object.GetName()},
			corev1.EnvVar{Name: "PET_NNODES", Value: fmt.Sprintf("%d:%d", least, most)},
			corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: strconv.FormatInt(number(elastic, 1, "nProcPerNode"), 10)},
			corev1.EnvVar{Name: "PET_MAX_RESTARTS", Value: strconv.FormatInt(number(elastic, 0, "maxRestarts"), 10)},
		)
	} else {
		variables = append(variables,
			corev1.EnvVar{Name: "MASTER_ADDR", Value: first}, corev1.EnvVar{Name: "MASTER_PORT", Value: trainingPort},
			corev1.EnvVar{Name: "WORLD_SIZE", Value: strconv.Itoa(size)}, corev1.EnvVar{Name: "RANK", Value: strconv.Itoa(p.rank)},
			corev1.EnvVar{Name: "PET_NNODES", Value: strconv.Itoa(size)}, corev1.EnvVar{Name: "PET_NODE_RANK", Value: strconv.Itoa(p.rank)},
			corev1.EnvVar{Name: "PET_MASTER_ADDR", Value: first}, corev1.EnvVar{Name: "PET_MASTER_PORT", Value: trainingPort},
		)
	}
	give(pod, variables...)
	return pod, nil
}
