// Package executor runs admitted actions on a Kubernetes cluster. It is the service around the reconciler, its plugins
// and the logs of pods: it composes them, keeps them running through outages of the cluster, and serves PodLogService.
// It works on the TaskActions that the actions service creates and deletes, and notifies it when one is finished.
// It shares only the sink of transitions and the object store with the other services.
package executor
