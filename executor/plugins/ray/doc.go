// Package ray runs tasks of the type ray as RayJobs of KubeRay: a cluster with a head and groups of workers, and a pod
// that submits the task to it. The task's process runs on the head; the pod that submits shows what it prints.
package ray
