// Package executor runs admitted actions on a Kubernetes cluster. It is the service around the reconciler, its plugins
// and the logs of pods: it composes them, keeps them running through outages of the cluster, and serves PodLogService.
// It works on the TaskActions that the actions service creates and deletes, and tells it when it is done with one. It
// meets the other services at the sink of transitions and in the object store.
package executor
