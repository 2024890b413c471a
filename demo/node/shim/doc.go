// Package shim is the small process that supervises one run of one container for the local node. The node starts
// its own binary again with Command as first argument; that process starts the container's process, writes its output
// to the log, enforces the memory limit, reaps every descendant and leaves the end in a state file. It outlives the
// node: after a crash of the server the next one finds the state file and a lock, and carries on.
//
// The package needs the standard library only, so that the process stays small although its executable is not: see
// package early for how it runs before the rest of the binary is initialized.
package shim

// Command is the first argument that turns the binary into a shim.
const Command = "internal-shim"

// PortCommand is the first argument that turns the binary into RunWithPort.
const PortCommand = "internal-with-port"

// File descriptors that the node hands over alongside the three standard ones.
const (
	ReportFD = 3 // pipe: one JSON State per line, at the start of the container and at its end
	LockFD   = 4 // file with an exclusive flock: held for as long as the shim lives
	// ControlFD is a named pipe of commands, one byte each. A signal could reach another process that has got the shim's
	// id by now, and would require a package that is initialized late.
	ControlFD = 5
)

// Commands of the node.
const (
	Terminate byte = 'T' // ask the container's process group to end
	Kill      byte = 'K' // end every process of the container now
)

// Marker is the environment variable by which a container's processes can be found even when their shim is gone.
const Marker = "FLYTE_LOCAL_CONTAINER"

// Environment is that of a shim.
func Environment() []string { return []string{"GOMAXPROCS=2", "GOTRACEBACK=single"} }
