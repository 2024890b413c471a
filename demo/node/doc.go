// Package node is the local node: a kubelet in miniature over the Pod API, which runs the containers of pods as
// operating-system processes of the machine it is on. It is what the demo has in place of a cluster's nodes; nothing of
// the product knows that it is there. Together with it comes a scheduler for this one node, since a cluster of
// processes has no other.
//
// Binder gives pods to the node while there is room. For every pod of the node a worker goes through the pod's life:
// it makes volumes (podvolume), resolves environments (podenv), starts processes (process, shim), reports their states
// and, when the pod is deleted, ends them. Logs (podlog) are served as a kubelet does, so that the API server's pods/log
// works. Processes outlive the node: one that starts on the same data directory finds them again.
package node
