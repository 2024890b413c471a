// Package process starts containers' processes under a shim, finds those of an earlier node again and ends them. It
// stands between the local node's pods and package shim: it knows processes, files and signals, and nothing of pods.
package process

// Files in the directory of one run of one container.
const (
	LogFile   = "log"   // see package podlog
	stateFile = "state" // shim.State
	pipeFile  = "pipe"  // named pipe of the node's wishes
	lockFile  = "lock"  // locked for as long as the shim lives
)
