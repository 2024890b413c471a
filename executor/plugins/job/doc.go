// Package job runs each attempt as one Kubernetes Job with one pod. It suits clusters whose queues, quotas or policies
// apply to Jobs, such as those of Kueue. The Job never retries: attempts belong to the reconciler. Pods are built
// and judged as the pod plugin's; this package adds what stands in between, the Job and its controller.
package job
