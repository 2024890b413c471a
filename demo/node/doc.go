// Package node is the local node: a small kubelet on the Pod API that runs containers as operating-system processes of
// this machine. The demo uses it in place of a cluster's nodes; no other part of the product knows of it. It includes a
// scheduler for this one node, since the demo's cluster has no other.
//
// The binder binds pods to the node while they fit. For every pod of the node, a worker runs the pod's life cycle: it
// creates volumes (podvolume), resolves environments (podenv), starts processes (process, shim), reports their states
// and, when the pod is deleted, ends them. Logs (podlog) are served as a kubelet does, so that the API server's pods/log
// works. Processes outlive the node: one that starts on the same data directory finds them again.
package node
