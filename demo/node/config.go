package node

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/node/capacity"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	"github.com/flyte-binary/flyte-binary/demo/node/warm"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the node.
type Config struct {
	// Name is the node's name in the API. Default "local".
	Name string `config:"name"`
	// DataDir keeps pods' files, working directories and logs. It must be absolute and has no default. A short path is
	// better: sockets in temporary directories below it may not be longer than about 100 characters.
	DataDir string `config:"dataDir"`
	// Address is where the node serves logs to the API server, and the address of the node and of pods that have none of their own
	// (package podnet). Default 127.0.0.1.
	Address string `config:"address"`
	// Endpoint is where tasks reach the server, as host:port. Processes of an earlier node that know another one are
	// ended and count as lost, since they would wait for it. Empty: all are kept.
	Endpoint string `config:"endpoint"`
	// CPUs is the total number of CPUs that pods may request, before CPUOvercommit. Default: as many as the machine has.
	CPUs float64 `config:"cpus"`
	// CPUOvercommit multiplies CPUs. Default 1.
	CPUOvercommit float64 `config:"cpuOvercommit"`
	// MemoryBytes is the total memory that pods may request, in bytes. Default: all memory of the machine.
	MemoryBytes int64 `config:"memoryBytes"`
	// Devices are the GPUs that pods may request. Default none: then any process may use what the machine has.
	Devices []devices.Device `config:"-"`
	// DeviceTools asks the makers' tools how busy devices are; nil for never.
	DeviceTools devices.Run `config:"-"`
	// AcceleratorLabel and PartitionLabel are the node labels by which pods name the model and the size of a part of a device. They
	// are compared with each device. Default: those of the pod builder.
	AcceleratorLabel string `config:"acceleratorLabel"`
	PartitionLabel   string `config:"partitionLabel"`
	// Pods is how many pods may run at a time. Default 250.
	Pods int64 `config:"pods"`
	// Relief is the interval at which the oldest waiting pod starts in spite of the requests of running pods, while the
	// machine's processors are mostly idle and its memory is free: tasks that wait for their children hold CPUs without
	// using them, so nested runs would deadlock. 0 turns it off. Default 250ms.
	Relief time.Duration `config:"relief"`
	// Environment is the directory, such as a Python virtual environment, that replaces images that no entry of
	// Images matches. Its bin directory comes first in PATH. Empty: the machine's own PATH alone.
	Environment string `config:"environment"`
	// Images maps images to other environments; the longest pattern that matches wins.
	Images []Image `config:"images"`
	// Store is the directory of the object store, if it is on this machine: containers that run as another user or with a
	// read-only root file system may write there. Empty: there is none.
	Store string `config:"store"`
	// OwnImage is the image whose command flyte-binary is Executable. Empty: there is none.
	OwnImage string `config:"ownImage"`
	// OwnEnv names further variables of this process that containers of OwnImage inherit. A trailing * matches any ending.
	OwnEnv []string `config:"ownEnv"`
	// Made has environments that were made for images. An entry of Images comes first. nil: there are none.
	Made *environments.Store `config:"-"`
	// Keep says which environments of Made are kept. Default: the 50 that were used last, and those used within an hour.
	Keep environments.Limit `config:"keep"`
	// PythonPath is a directory that is added to the end of every container's PYTHONPATH. Empty: none.
	PythonPath string `config:"pythonPath"`
	// InheritEnv names variables of this process that containers inherit. A trailing * matches any
	// ending. Default: language, time zone, proxies, certificates and library paths.
	InheritEnv []string `config:"inheritEnv"`
	// Env are further variables for every container. The container's own variables override them.
	Env map[string]string `config:"env"`
	// Heartbeat is how often the node renews its lease. Default 10s.
	Heartbeat time.Duration `config:"heartbeat"`
	// RunningDelay is how long a change other than the end of a pod waits before it is written; a pod that ends
	// meanwhile saves a write. Default 50ms.
	RunningDelay time.Duration `config:"runningDelay"`
	// UnschedulableAfter is how long a pod waits for room before its PodScheduled condition says Unschedulable. Default 1s.
	UnschedulableAfter time.Duration `config:"unschedulableAfter"`
	// RestartBackoff is the pause before a container is started again, doubled each time up to 30 times as much.
	// Default 10s.
	RestartBackoff time.Duration `config:"restartBackoff"`
	// LogBytes is the size at which a container's log is rotated; one older file is kept. Default 64 MiB.
	LogBytes int64 `config:"logBytes"`
	// MemoryInterval is how often memory limits are checked where the kernel does not enforce them. Default 250ms.
	MemoryInterval time.Duration `config:"memoryInterval"`
	// StopGrace bounds how long processes may take to end when the node stops, whatever their pods allow. Default 5s.
	StopGrace time.Duration `config:"stopGrace"`
	// Executable is the binary that runs shims (see package shim/early). Default: this process's own.
	Executable string `config:"executable"`
	// Certificates is the directory of EnsureCertificates. Default: pki below DataDir.
	Certificates string `config:"certificates"`
	// PortableMounts disables mount namespaces even where they are available.
	PortableMounts bool `config:"portableMounts"`
	// NoCgroups disables cgroups even where they are available.
	NoCgroups bool `config:"noCgroups"`
	// GivePorts gives every replica of an app a port of its own, whatever port its program asks for, and pods that have an address of
	// their own all ports of it. Only where shim.GivesPorts.
	// The deployer must know (deployer.givesPorts). Default false.
	GivePorts bool `config:"givePorts"`
	// GiveNames lets processes see names of their own: those of pods that have an address of their own, and hostAliases. Only where
	// shim.GivesNames. Default false: hostAliases are ignored.
	GiveNames bool `config:"giveNames"`
	// ServiceAccountTokens gives pods the token of their service account, at the cost of one more API call per pod.
	ServiceAccountTokens bool `config:"serviceAccountTokens"`
	// Warm configures warm starts of Python tasks. Its directory is warm below DataDir, its executable Executable.
	Warm warm.Config `config:"warm"`
}

// Image maps images to an environment.
type Image struct {
	// Pattern must match the whole image name; * matches any text.
	Pattern string `config:"pattern"`
	// Environment is the directory that replaces the image.
	Environment string `config:"environment"`
}

// DefaultConfig returns every default; DataDir is left empty.
func DefaultConfig() Config {
	return Config{
		Name: "local", Address: "127.0.0.1", CPUs: float64(runtime.NumCPU()), CPUOvercommit: 1, MemoryBytes: capacity.MachineMemory(),
		AcceleratorLabel: "k8s.amazonaws.com/accelerator", PartitionLabel: "k8s.amazonaws.com/gpu-partition-size",
		Pods: 250, Relief: 250 * time.Millisecond, Heartbeat: 10 * time.Second, RunningDelay: 50 * time.Millisecond,
		UnschedulableAfter: time.Second, RestartBackoff: 10 * time.Second, LogBytes: 64 << 20,
		MemoryInterval: 250 * time.Millisecond, StopGrace: 5 * time.Second, Warm: warm.DefaultConfig(),
		Keep: environments.Limit{Keep: 50, MinIdle: time.Hour},
		InheritEnv: []string{
			"LANG", "LC_*", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH",
			"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
			"ALL_PROXY", "NO_PROXY",
		},
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var wrong invalid.Fields
	wrong.If(c.Name == "", "name: required")
	wrong.If(!filepath.IsAbs(c.DataDir), "dataDir: must be an absolute path, got %q", c.DataDir)
	wrong.If(c.Address == "", "address: required")
	wrong.If(c.CPUs <= 0, "cpus: must be more than 0, got %v", c.CPUs)
	wrong.If(c.CPUOvercommit <= 0, "cpuOvercommit: must be more than 0, got %v", c.CPUOvercommit)
	wrong.If(c.MemoryBytes <= 0, "memoryBytes: must be more than 0, got %d", c.MemoryBytes)
	wrong.If(c.Pods <= 0, "pods: must be more than 0, got %d", c.Pods)
	wrong.If(c.Relief < 0, "relief: must not be negative, got %s", c.Relief)
	wrong.If(c.Heartbeat <= 0, "heartbeat: must be more than 0, got %s", c.Heartbeat)
	wrong.If(c.RunningDelay < 0, "runningDelay: must not be negative, got %s", c.RunningDelay)
	wrong.If(c.UnschedulableAfter < 0, "unschedulableAfter: must not be negative, got %s", c.UnschedulableAfter)
	wrong.If(c.RestartBackoff <= 0, "restartBackoff: must be more than 0, got %s", c.RestartBackoff)
	wrong.If(c.LogBytes < 0, "logBytes: must not be negative, got %d", c.LogBytes)
	wrong.If(c.MemoryInterval <= 0, "memoryInterval: must be more than 0, got %s", c.MemoryInterval)
	wrong.If(c.StopGrace < 0, "stopGrace: must not be negative, got %s", c.StopGrace)
	wrong.If(notAbsolute(c.Environment), "environment: must be an absolute path, got %q", c.Environment)
	wrong.If(notAbsolute(c.Store), "store: must be an absolute path, got %q", c.Store)
	for i, image := range c.Images {
		wrong.If(image.Pattern == "", "images[%d].pattern: required", i)
		wrong.If(notAbsolute(image.Environment), "images[%d].environment: must be an absolute path, got %q", i, image.Environment)
	}
	return wrong.Err()
}

// notAbsolute reports whether a directory is given, and relative. One that does not exist yet is an error when a container uses it.
func notAbsolute(dir string) bool { return dir != "" && !filepath.IsAbs(dir) }

// executable is the configured shim or this binary.
func (c Config) executable() (string, error) {
	if c.Executable != "" {
		return c.Executable, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this executable: %w", err)
	}
	return path, nil
}
