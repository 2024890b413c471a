// Package process starts containers' processes under a shim, finds those of an earlier node and ends them. It handles
// processes, files and signals; it has no notion of pods.
package process

// Files in the directory of one run of one container.
const (
	LogFile   = "log"   // see package podlog
	stateFile = "state" // shim.State
	pipeFile  = "pipe"  // named pipe for the node's commands
	lockFile  = "lock"  // locked for as long as the shim lives
)
