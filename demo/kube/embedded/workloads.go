package embedded

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

// Workers of each controller. A laptop has few objects, and each worker is a goroutine that waits.
const (
	workloadWorkers = 2
	// burstReplicas is how many pods of one ReplicaSet are created at once, as in Kubernetes itself.
	burstReplicas = 500
)

// newWorkloads returns the controllers that make pods of other objects: apps are Deployments, and operators use the
// others. There is none for EndpointSlices: the pods of the local node have the loopback address, which they refuse.
func newWorkloads(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) ([]func(context.Context), error) {
	apps, pods := shared.Apps().V1(), shared.Core().V1().Pods()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), pods, client)
	if err != nil {
		return nil, err
	}
	jobs, err := job.NewController(ctx, client, pods, shared.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return nil, err
	}
	replicas := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), pods, client, burstReplicas)
	stateful := statefulset.NewStatefulSetController(ctx, pods, apps.StatefulSets(), shared.Core().V1().PersistentVolumeClaims(),
		apps.ControllerRevisions(), client)
	return []func(context.Context){
		func(ctx context.Context) { deployments.Run(ctx, workloadWorkers) },
		func(ctx context.Context) { replicas.Run(ctx, workloadWorkers) },
		func(ctx context.Context) { jobs.Run(ctx, workloadWorkers) },
		func(ctx context.Context) { stateful.Run(ctx, workloadWorkers) },
	}, nil
}
