// Package worker runs the attempts of one pool of a reusable environment alongside the user's Python: it takes them over a stream
// from WorkerService, forks each from a process that has the SDK and the task's code, and reports how it ended.
//
// It is the program of a pod, like the co-pilot: services know its messages and variables only.
package worker
