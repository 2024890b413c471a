package warm

import (
	"errors"
	"path/filepath"
	"runtime"
	"time"
)

// Config configures the parents.
type Config struct {
	// Enabled allows warm starts. On systems other than Linux all starts are cold either way. Default: true on Linux.
	Enabled bool `mapstructure:"enabled"`
	// Dir keeps the parents' program. It must be absolute and has no default.
	Dir string `mapstructure:"dir"`
	// Executable is the binary that runs shims. It has no default.
	Executable string `mapstructure:"executable"`
	// Parents is how many parents there may be at a time, one for each environment and set of variables. Each takes the
	// memory of an interpreter with the SDK. Default 4.
	Parents int `mapstructure:"parents"`
	// Idle is how long a parent lives without being used. Default 10m.
	Idle time.Duration `mapstructure:"idle"`
	// Ready bounds the wait for a parent that is importing the SDK. It should be longer than an import on a busy machine,
	// for a process that starts cold has to do the same. Default 20s.
	Ready time.Duration `mapstructure:"ready"`
	// Fork bounds one fork. Default 5s.
	Fork time.Duration `mapstructure:"fork"`
	// Learn is how often a node looks for packages that tasks have used and their parent has not imported. Default 10s.
	Learn time.Duration `mapstructure:"learn"`
	// Pause is how long an environment starts cold after its parent has failed. Default 1m.
	Pause time.Duration `mapstructure:"pause"`
}

// DefaultConfig returns every default; Dir and Executable are left empty.
func DefaultConfig() Config {
	return Config{
		Enabled: runtime.GOOS == "linux", Parents: 4, Idle: 10 * time.Minute, Ready: 20 * time.Second, Fork: 5 * time.Second,
		Learn: 10 * time.Second, Pause: time.Minute,
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	switch {
	case !c.Enabled:
		return nil
	case !filepath.IsAbs(c.Dir):
		return errors.New("dir: must be an absolute path")
	case !filepath.IsAbs(c.Executable):
		return errors.New("executable: must be an absolute path")
	case c.Parents <= 0:
		return errors.New("parents: must be more than 0")
	case c.Idle <= 0:
		return errors.New("idle: must be more than 0")
	case c.Ready <= 0:
		return errors.New("ready: must be more than 0")
	case c.Fork <= 0:
		return errors.New("fork: must be more than 0")
	case c.Learn <= 0:
		return errors.New("learn: must be more than 0")
	case c.Pause <= 0:
		return errors.New("pause: must be more than 0")
	}
	return nil
}
