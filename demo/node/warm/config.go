package warm

import (
	"path/filepath"
	"runtime"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config configures the parents.
type Config struct {
	// Enabled allows warm starts. On systems other than Linux all starts are cold either way. Default: true on Linux.
	Enabled bool `config:"enabled"`
	// Dir keeps the parents' program. It must be absolute and has no default.
	Dir string `config:"dir"`
	// Executable is the binary that runs shims. It has no default.
	Executable string `config:"executable"`
	// Parents is how many parents there may be at a time, one for each environment and set of variables. Each takes the
	// memory of an interpreter with the SDK. Default 4.
	Parents int `config:"parents"`
	// Forkers is how many processes of a parent fork tasks at the same time. Copying the tables of the parent's memory takes one of them 2
	// to 3 ms for each task. Default: one for each two cores, at most 4.
	Forkers int `config:"forkers"`
	// Idle is how long a parent lives without being used. Default 10m.
	Idle time.Duration `config:"idle"`
	// Stall is how long a parent that is importing the SDK may make no progress, which is to use no CPU and read nothing. On a
	// busy machine an import takes long, but a cold start takes as long, so a parent that makes progress is waited for.
	// Default 20s.
	Stall time.Duration `config:"stall"`
	// Ready bounds all of that. Default 5m.
	Ready time.Duration `config:"ready"`
	// Fork bounds one fork. Default 5s.
	Fork time.Duration `config:"fork"`
	// Learn is how often a node looks for packages that tasks have used and their parent has not imported. Default 10s.
	Learn time.Duration `config:"learn"`
	// Pause is how long an environment starts cold after its parent has failed. Default 1m.
	Pause time.Duration `config:"pause"`
}

// DefaultConfig returns every default; Dir and Executable are left empty.
func DefaultConfig() Config {
	return Config{
		Enabled: runtime.GOOS == "linux", Parents: 4, Forkers: min(max(runtime.NumCPU()/2, 1), 4), Idle: 10 * time.Minute, Stall: 20 * time.Second, Ready: 5 * time.Minute,
		Fork: 5 * time.Second, Learn: 10 * time.Second, Pause: time.Minute,
	}
}

// Validate lists the fields that are wrong. Nothing is wrong while warm starts are off.
func (c Config) Validate() error {
	if !c.Enabled {
		return nil
	}
	var wrong invalid.Fields
	wrong.If(!filepath.IsAbs(c.Dir), "dir: must be an absolute path, got %q", c.Dir)
	wrong.If(!filepath.IsAbs(c.Executable), "executable: must be an absolute path, got %q", c.Executable)
	wrong.If(c.Parents <= 0, "parents: must be more than 0, got %d", c.Parents)
	wrong.If(c.Forkers <= 0, "forkers: must be more than 0, got %d", c.Forkers)
	wrong.If(c.Idle <= 0, "idle: must be more than 0, got %s", c.Idle)
	wrong.If(c.Stall <= 0, "stall: must be more than 0, got %s", c.Stall)
	wrong.If(c.Ready <= 0, "ready: must be more than 0, got %s", c.Ready)
	wrong.If(c.Fork <= 0, "fork: must be more than 0, got %s", c.Fork)
	wrong.If(c.Learn <= 0, "learn: must be more than 0, got %s", c.Learn)
	wrong.If(c.Pause <= 0, "pause: must be more than 0, got %s", c.Pause)
	return wrong.Err()
}
