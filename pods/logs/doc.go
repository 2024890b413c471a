// Package logs reads the logs of containers from the cluster: it follows those of running pods for PodLogService, and
// copies those of ended ones to the object store. It is below the executor's service; who may read, and which log
// belongs to which attempt, is decided elsewhere.
package logs
