package node

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/node/warm"
)

// Config configures the node.
type Config struct {
	// Name is the node's name in the API. Default "local".
	Name string `mapstructure:"name"`
	// DataDir keeps pods' files, working directories and logs. It must be absolute and has no default. A short path is
	// better: sockets in temporary directories below it may not be longer than about 100 characters.
	DataDir string `mapstructure:"dataDir"`
	// Address is where the node serves logs to the API server, and the address of node and pods. Default 127.0.0.1.
	Address string `mapstructure:"address"`
	// Endpoint is where tasks reach the server, as host:port. Processes of an earlier node that know another one are
	// ended and count as lost, since they would wait for it. Empty: all are kept.
	Endpoint string `mapstructure:"endpoint"`
	// CPUs is the total number of CPUs that pods may request, before CPUOvercommit. Default: as many as the machine has.
	CPUs float64 `mapstructure:"cpus"`
	// CPUOvercommit multiplies CPUs. Default 1.
	CPUOvercommit float64 `mapstructure:"cpuOvercommit"`
	// MemoryBytes is the total memory that pods may request, in bytes. Default: all memory of the machine.
	MemoryBytes int64 `mapstructure:"memoryBytes"`
	// Pods is how many pods may run at a time. Default 250.
	Pods int64 `mapstructure:"pods"`
	// Relief is the interval at which the oldest waiting pod starts in spite of the requests of running pods, while the
	// machine's processors are mostly idle and its memory is free: tasks that wait for their children hold CPUs without
	// using them, so nested runs would deadlock. 0 turns it off. Default 250ms.
	Relief time.Duration `mapstructure:"relief"`
	// Environment is the directory, such as a Python virtual environment, that replaces images that no entry of
	// Images matches. Its bin directory comes first in PATH. Empty: the machine's own PATH alone.
	Environment string `mapstructure:"environment"`
	// Images maps images to other environments; the longest pattern that matches wins.
	Images []Image `mapstructure:"images"`
	// Store is the directory of the object store, if it is on this machine: containers that run as another user or with a
	// read-only root file system may write there. Empty: there is none.
	Store string `mapstructure:"store"`
	// OwnImage is the image whose command flyte-binary is Executable. Empty: there is none.
	OwnImage string `mapstructure:"ownImage"`
	// OwnEnv names further variables of this process that containers of OwnImage inherit. A trailing * matches any ending.
	OwnEnv []string `mapstructure:"ownEnv"`
	// Made has environments that were made for images. An entry of Images comes first. nil: there are none.
	Made *environments.Store `mapstructure:"-"`
	// Keep says which environments of Made are kept. Default: the 50 that were used last, and those used within an hour.
	Keep environments.Limit `mapstructure:"keep"`
	// PythonPath is a directory that is added to the end of every container's PYTHONPATH. Empty: none.
	PythonPath string `mapstructure:"pythonPath"`
	// InheritEnv names variables of this process that containers inherit. A trailing * matches any
	// ending. Default: language, time zone, proxies, certificates and library paths.
	InheritEnv []string `mapstructure:"inheritEnv"`
	// Env are further variables for every container. The container's own variables override them.
	Env map[string]string `mapstructure:"env"`
	// Heartbeat is how often the node renews its lease. Default 10s.
	Heartbeat time.Duration `mapstructure:"heartbeat"`
	// RunningDelay is how long a change other than the end of a pod waits before it is written; a pod that ends
	// meanwhile saves a write. Default 50ms.
	RunningDelay time.Duration `mapstructure:"runningDelay"`
	// UnschedulableAfter is how long a pod waits for room before its PodScheduled condition says Unschedulable. Default 1s.
	UnschedulableAfter time.Duration `mapstructure:"unschedulableAfter"`
	// RestartBackoff is the pause before a container is started again, doubled each time up to 30 times as much.
	// Default 10s.
	RestartBackoff time.Duration `mapstructure:"restartBackoff"`
	// LogBytes is the size at which a container's log is rotated; one older file is kept. Default 64 MiB.
	LogBytes int64 `mapstructure:"logBytes"`
	// MemoryInterval is how often memory limits are checked where the kernel does not enforce them. Default 250ms.
	MemoryInterval time.Duration `mapstructure:"memoryInterval"`
	// StopGrace bounds how long processes may take to end when the node stops, whatever their pods allow. Default 5s.
	StopGrace time.Duration `mapstructure:"stopGrace"`
	// Executable is the binary that runs shims (see package shim/early). Default: this process's own.
	Executable string `mapstructure:"executable"`
	// Certificates is the directory of EnsureCertificates. Default: pki below DataDir.
	Certificates string `mapstructure:"certificates"`
	// PortableMounts disables mount namespaces even where they are available.
	PortableMounts bool `mapstructure:"portableMounts"`
	// NoCgroups disables cgroups even where they are available.
	NoCgroups bool `mapstructure:"noCgroups"`
	// ServiceAccountTokens gives pods the token of their service account, at the cost of one more API call per pod.
	ServiceAccountTokens bool `mapstructure:"serviceAccountTokens"`
	// Warm configures warm starts of Python tasks. Its directory is warm below DataDir, its executable Executable.
	Warm warm.Config `mapstructure:"warm"`
}

// Image maps images to an environment.
type Image struct {
	// Pattern must match the whole image name; * matches any text.
	Pattern string `mapstructure:"pattern"`
	// Environment is the directory that replaces the image.
	Environment string `mapstructure:"environment"`
}

// DefaultConfig returns every default; DataDir is left empty.
func DefaultConfig() Config {
	return Config{
		Name: "local", Address: "127.0.0.1", CPUs: float64(runtime.NumCPU()), CPUOvercommit: 1, MemoryBytes: machineMemory(),
		Pods: 250, Relief: 250 * time.Millisecond, Heartbeat: 10 * time.Second, RunningDelay: 50 * time.Millisecond,
		UnschedulableAfter: time.Second, RestartBackoff: 10 * time.Second, LogBytes: 64 << 20,
		MemoryInterval: 250 * time.Millisecond, StopGrace: 5 * time.Second, Warm: warm.DefaultConfig(),
		Keep: environments.Limit{Keep: 50, Rest: time.Hour},
		InheritEnv: []string{
			"LANG", "LC_*", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "LD_LIBRARY_PATH",
			"CUDA_VISIBLE_DEVICES", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
			"ALL_PROXY", "NO_PROXY",
		},
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.Name == "":
		return fmt.Errorf("name: must be set")
	case !filepath.IsAbs(c.DataDir):
		return fmt.Errorf("dataDir: %q is not an absolute path", c.DataDir)
	case c.Address == "":
		return fmt.Errorf("address: must be set")
	case c.CPUs <= 0:
		return fmt.Errorf("cpus: must be more than 0")
	case c.CPUOvercommit <= 0:
		return fmt.Errorf("cpuOvercommit: must be more than 0")
	case c.MemoryBytes <= 0:
		return fmt.Errorf("memoryBytes: must be more than 0")
	case c.Pods <= 0:
		return fmt.Errorf("pods: must be more than 0")
	case c.Relief < 0:
		return fmt.Errorf("relief: must not be negative")
	case c.Heartbeat <= 0:
		return fmt.Errorf("heartbeat: must be more than 0")
	case c.RunningDelay < 0:
		return fmt.Errorf("runningDelay: must not be negative")
	case c.UnschedulableAfter < 0:
		return fmt.Errorf("unschedulableAfter: must not be negative")
	case c.RestartBackoff <= 0:
		return fmt.Errorf("restartBackoff: must be more than 0")
	case c.LogBytes < 0:
		return fmt.Errorf("logBytes: must not be negative")
	case c.MemoryInterval <= 0:
		return fmt.Errorf("memoryInterval: must be more than 0")
	case c.StopGrace < 0:
		return fmt.Errorf("stopGrace: must not be negative")
	}
	if err := environment(c.Environment); err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	if c.Store != "" && !filepath.IsAbs(c.Store) {
		return fmt.Errorf("store: %q is not an absolute path", c.Store)
	}
	for i, image := range c.Images {
		if image.Pattern == "" {
			return fmt.Errorf("images[%d].pattern: must be set", i)
		}
		if err := environment(image.Environment); err != nil {
			return fmt.Errorf("images[%d].environment: %w", i, err)
		}
	}
	return nil
}

// environment checks a directory of executables; one that does not exist yet is an error when a container uses it.
func environment(dir string) error {
	if dir != "" && !filepath.IsAbs(dir) {
		return fmt.Errorf("%q is not an absolute path", dir)
	}
	return nil
}

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
