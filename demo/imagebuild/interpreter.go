package imagebuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// describe prints the version of an interpreter and the path of the one that its environment was made with.
const describe = `import sys; print("%d.%d" % sys.version_info[:2], getattr(sys, "_base_executable", sys.executable))`

// interpreter finds an interpreter of a version. Each candidate is asked, since what is called python3.12 may be a script
// of a version manager that has no such version.
func (w *worker) interpreter(ctx context.Context, version string) (string, error) {
	var found []string
	for _, candidate := range w.candidates(version) {
		out, err := exec.CommandContext(ctx, candidate, "-c", describe).Output()
		has, path, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
		if err != nil || !ok || !filepath.IsAbs(path) {
			continue
		}
		if has == version {
			return path, nil
		}
		if !slices.Contains(found, has) {
			found = append(found, has)
		}
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("the build was stopped: %w", ctx.Err())
	}
	if len(found) == 0 {
		found = []string{"none"}
	}
	return "", fmt.Errorf("the image asks for Python %s, which this machine does not have (it has %s). Install it, for example with "+
		"`uv python install %s`, or choose another version: flyte.Image.from_debian_base(python_version=(3, N))",
		version, strings.Join(found, ", "), version)
}

// candidates are programs that may be an interpreter of a version: those in PATH, and those of uv and pyenv.
func (w *worker) candidates(version string) []string {
	var list []string
	for _, name := range []string{"python" + version, "python3", "python"} {
		for _, dir := range filepath.SplitList(variable(w.build.Environ, "PATH")) {
			if file := filepath.Join(dir, name); filepath.IsAbs(dir) && isProgram(file) {
				list = append(list, file)
			}
		}
	}
	home := variable(w.build.Environ, "HOME")
	for _, pattern := range []string{
		filepath.Join(home, ".local", "share", "uv", "python", "cpython-"+version+".*", "bin", "python"+version),
		filepath.Join(home, ".pyenv", "versions", version+".*", "bin", "python"+version),
	} {
		if more, err := filepath.Glob(pattern); err == nil && home != "" {
			list = append(list, more...)
		}
	}
	return list
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
