// Package manifest makes the specifications of RayJobs and RayClusters from the plugin's part of a task, and the command that the pod
// which submits gives to the head.
package manifest

// The roles of pods.
const (
	Head      = "head"
	Worker    = "worker"
	Submitter = "submitter"
)
