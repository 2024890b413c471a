package pyenv

import (
	"fmt"
	"os"
	"path/filepath"
)

// Environment is the environment in which the demo runs tasks.
type Environment struct {
	// Dir is its directory, absolute.
	Dir string
	// Own means that the demo creates it if it is missing.
	Own bool
	// Why says for people why it is this one.
	Why string
}

// Choose chooses the environment: the wanted one if a directory is given; else the one that this program is installed in, the
// active virtual environment or the active conda environment, if it has the Flyte SDK; else the demo's own.
func Choose(wanted, own string) (Environment, error) {
	if wanted != "" {
		dir, err := filepath.Abs(wanted)
		if err != nil {
			return Environment{}, err
		}
		return Environment{Dir: dir, Why: "given"}, nil
	}
	if dir := aroundProgram(); usable(dir) {
		return Environment{Dir: dir, Why: "where this program is installed"}, nil
	}
	why := "the demo's own"
	for _, active := range []struct{ dir, what string }{
		{os.Getenv("VIRTUAL_ENV"), "the active virtual environment"},
		{os.Getenv("CONDA_PREFIX"), "the active conda environment"},
	} {
		if !filepath.IsAbs(active.dir) {
			continue
		}
		if usable(active.dir) {
			return Environment{Dir: active.dir, Why: active.what}, nil
		}
		why = fmt.Sprintf("the demo's own, since %s %s has no Flyte SDK", active.what, active.dir)
	}
	return Environment{Dir: own, Own: true, Why: why}, nil
}

// aroundProgram is the directory above the bin directory of this program: an environment after pip install and for uvx.
func aroundProgram() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	if filepath.Base(filepath.Dir(program)) != "bin" {
		return ""
	}
	return filepath.Dir(filepath.Dir(program))
}

// usable reports whether tasks can run in the environment.
func usable(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "bin", "python"))
	return err == nil && !info.IsDir() && Check(dir) == nil
}
