package shim

import (
	"net/netip"
	"time"
)

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
	// MemoryBytes is the limit of the memory that all processes hold together. 0 means no limit.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// MemoryInterval is how often memory is checked where the kernel does not enforce the limit.
	MemoryInterval time.Duration `json:"memoryInterval,omitempty"`
	// Cgroup is an empty cgroup v2 directory for the processes, or nothing.
	Cgroup string `json:"cgroup,omitempty"`
	// CgroupLimits means that the kernel enforces MemoryBytes on Cgroup.
	CgroupLimits bool `json:"cgroupLimits,omitempty"`
	// Notice is written to the log before any output; empty for nothing.
	Notice string `json:"notice,omitempty"`
	// Security restricts the processes.
	Security Security `json:"security,omitzero"`
	// Port replaces the port on which the processes listen; nil replaces none. Where GivesPorts only.
	Port *Port `json:"port,omitempty"`
	// Network gives the processes an address and names of other processes; nil leaves them those of the machine.
	Network *Network `json:"network,omitempty"`
}

// Network is the part of a network of its own that a process of this machine can have.
type Network struct {
	// Address is an address of this machine in Subnet that the processes have to themselves. A TCP socket that is bound to a
	// port of all addresses is bound to that port of Address instead, and one that is bound to a port of 127.0.0.1 to that port of
	// another address of their own. The processes find both at 127.0.0.1. Connections to other addresses in Subnet come from Address. Port 0 stays as it is, since the kernel gives no
	// port to two sockets. IPv6 alone, as by a socket that is bound to ::1, is not served. The zero value leaves sockets as
	// they are. Where GivesPorts only.
	Address netip.Addr `json:"address,omitzero"`
	// Hosts is a file that the processes see as /etc/hosts; empty for the machine's own. Where GivesNames only.
	Hosts string `json:"hosts,omitempty"`
}

// Subnet are the addresses of processes. All of 127.0.0.0/8 is this machine on Linux, and its lower part has the addresses that
// people and programs use, such as 127.0.0.53. The next ones, as many again, take the place of 127.0.0.1.
func Subnet() netip.Prefix { return netip.MustParsePrefix("127.64.0.0/11") }

// hosts is the file of names, empty for the machine's own.
func (s Spec) hosts() string {
	if s.Network == nil {
		return ""
	}
	return s.Network.Hosts
}

// Port is a port of this machine that processes have instead of the one that they ask for. A TCP socket that is bound to
// Declared is bound to Given, with the same address, and a connection to Declared on this machine goes to Given: the processes
// have their port to themselves, even if another process uses it. What a socket says of itself afterwards has Given. Processes of a user
// who is not root get no further privileges (NoNewPrivileges).
type Port struct {
	Declared uint16 `json:"declared"`
	Given    uint16 `json:"given"`
}

// Security is what of a container's security context a process of this machine can have. All but the zero value needs
// Linux, and all but NoNewPrivileges needs root.
type Security struct {
	// User is who the processes run as; nil is the user of the shim.
	User *User `json:"user,omitempty"`
	// NoNewPrivileges means that no program gives more rights than its caller has, whatever its file says.
	NoNewPrivileges bool `json:"noNewPrivileges,omitempty"`
	// Drop are the numbers of capabilities that the processes never have.
	Drop []int `json:"drop,omitempty"`
	// ReadOnlyRoot makes all files read-only except those below Writable, which must exist, and writable mounts.
	ReadOnlyRoot bool     `json:"readOnlyRoot,omitempty"`
	Writable     []string `json:"writable,omitempty"`
}

// IsZero reports whether the processes are plain processes of the shim's user.
func (s Security) IsZero() bool {
	return s.User == nil && !s.NoNewPrivileges && len(s.Drop) == 0 && !s.ReadOnlyRoot
}

// User is an identity of the kernel.
type User struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"`
}

// Mount shows Source, a file or directory, at Target, which must exist as the same kind.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}
