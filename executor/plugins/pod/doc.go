// Package pod runs an attempt as one Kubernetes pod: the plugin of every task type that nobody else serves. It builds
// the pod, makes it once, and reads its status; it stands between the reconciler and the cluster.
package pod
