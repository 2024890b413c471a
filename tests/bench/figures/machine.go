package figures

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

// Machine describes where the figures were measured.
type Machine struct {
	Time       time.Time `json:"time"`
	CPU        string    `json:"cpu"`
	Cores      int       `json:"cores"`
	MemoryGiB  float64   `json:"memoryGiB"`
	Kernel     string    `json:"kernel"`
	Go         string    `json:"go"`
	Postgres   string    `json:"postgres"`
	Kubernetes string    `json:"kubernetes"`
	// SyncsPerSecond is how often the disk stores 8 kB durably in a second, one after the other.
	SyncsPerSecond float64 `json:"syncsPerSecond"`
	// CalibrationMS is how long a fixed unit of work takes one core, in milliseconds.
	CalibrationMS float64 `json:"calibrationMS"`
	// FileMicroseconds is how long it takes to create a directory with a file.
	FileMicroseconds float64 `json:"fileMicroseconds"`
	// Load is the load average of the minute before.
	Load string `json:"load"`
}

// DescribeMachine describes the machine and the disk below dir.
func DescribeMachine(ctx context.Context, dir, apiserver string) (Machine, error) {
	m := Machine{Time: time.Now().UTC().Truncate(time.Second), Cores: runtime.NumCPU(), Go: runtime.Version()}
	m.CPU = after(fileText("/proc/cpuinfo"), "model name")
	var kib float64
	if _, err := fmt.Sscanf(after(fileText("/proc/meminfo"), "MemTotal"), "%g", &kib); err == nil {
		m.MemoryGiB = kib / (1 << 20)
	}
	m.Kernel = strings.TrimSpace(fileText("/proc/sys/kernel/osrelease"))
	m.Load, _, _ = strings.Cut(fileText("/proc/loadavg"), " ")
	bin, err := pgembed.Find()
	if err != nil {
		return m, err
	}
	if m.Postgres, err = version(ctx, filepath.Join(bin, "postgres")); err != nil {
		return m, err
	}
	if m.Kubernetes, err = version(ctx, apiserver); err != nil {
		return m, err
	}
	m.CalibrationMS = Milliseconds(calibrate())
	if m.SyncsPerSecond, err = syncRate(dir, time.Second); err != nil {
		return m, err
	}
	cost, err := fileCost(dir)
	m.FileMicroseconds = float64(cost.Microseconds())
	return m, err
}

// version returns the version that a program prints.
func version(ctx context.Context, program string) (string, error) {
	said, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", program, err)
	}
	return strings.TrimSpace(string(said)), nil
}

// syncRate repeatedly writes 8 kB, the page of Postgres, and waits until the disk has it. It writes in the same 8 MiB
// again, as a write-ahead log does, so that no block has to be allocated.
func syncRate(dir string, long time.Duration) (float64, error) {
	file, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // in a temporary directory
	defer file.Close()
	block := make([]byte, 8<<10)
	began, n := time.Now(), 0
	for time.Since(began) < long {
		if _, err := file.WriteAt(block, int64(n%1024)*int64(len(block))); err != nil {
			return 0, err
		}
		if err := datasync(file); err != nil {
			return 0, fmt.Errorf("sync: %w", err)
		}
		n++
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func (m Machine) print(out io.Writer) {
	fmt.Fprintf(out, "%s, %d cores, %.0f GiB, Linux %s, %s, %s, %s\n",
		m.CPU, m.Cores, m.MemoryGiB, m.Kernel, m.Go, m.Postgres, m.Kubernetes)
	fmt.Fprintf(out, "SHA-256 of %d MiB takes a core %.0f ms\n", calibrationBytes>>20, m.CalibrationMS)
	fmt.Fprintf(out, "%.0f durable writes of 8 kB a second (Postgres and etcd sync); load %s before; %s\n",
		m.SyncsPerSecond, m.Load, m.Time.Format(time.RFC3339))
	fmt.Fprintf(out, "a directory with a file is created in %.0f µs; if that is more than some 100, files have been deleted in the last five\n"+
		"minutes, and CreateRun is slower than it would be\n", m.FileMicroseconds)
	fmt.Fprintln(out, "All processes share the cores with the client. Logs are not sealed, since the node has none. Outputs are void.")
}

func fileText(path string) string {
	body, err := os.ReadFile(path)
	if err != nil {
		return "" // another operating system; the figure stays empty
	}
	return string(body)
}

// after is the value of the first line that begins with a name and a colon.
func after(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
