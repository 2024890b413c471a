// Package logs reads the logs of containers where they are: it follows those of running pods for PodLogService, and
// keeps those of ended ones in the object store. It stands next to the cluster, below the executor's service; who may
// read, and which log belongs to which attempt, is known elsewhere.
package logs
