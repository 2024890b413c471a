package shim

import "time"

// Spec is what a shim is to run. It arrives as JSON on standard input, so that values of secrets never touch the
// disk; an input that ends early starts nothing.
type Spec struct {
	// ID names this run of the container on this machine; it becomes the value of Marker.
	ID string `json:"id"`
	// Path is the executable, Argv its arguments with the name as the first.
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	// Env is the whole environment as NAME=value.
	Env []string `json:"env"`
	// Dir is the working directory.
	Dir string `json:"dir"`
	// LogFile gets stdout and stderr, see package podlog for the form of its lines.
	LogFile string `json:"logFile"`
	// LogBytes is the size at which the log is rotated, keeping one older file. 0 never rotates it.
	LogBytes int64 `json:"logBytes"`
	// StateFile is replaced atomically at each change of state.
	StateFile string `json:"stateFile"`
	// Mounts are made in a mount namespace of the container's own. Linux as root only.
	Mounts []Mount `json:"mounts,omitempty"`
	// MemoryBytes is the limit of the resident memory of all processes together. 0 is no limit.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// MemoryInterval is how often memory is checked where the kernel does not enforce the limit.
	MemoryInterval time.Duration `json:"memoryInterval,omitempty"`
	// Cgroup is an empty cgroup v2 directory for the processes, or nothing.
	Cgroup string `json:"cgroup,omitempty"`
	// CgroupLimits means that the kernel enforces MemoryBytes on Cgroup.
	CgroupLimits bool `json:"cgroupLimits,omitempty"`
}

// Mount shows Source, a file or directory, at Target, which must exist as the same kind.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}
