// Package placement decides which cluster runs an action. Its functions are pure: admission gives them what an action asks for
// and what the clusters reported, and they answer with a cluster, or with what the action waits for. A book keeps what was
// admitted since a cluster last reported.
package placement
