package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
	"github.com/flyte-binary/flyte-binary/demo/node/podnet"
)

// environment adds the variables that a process of this machine requires to the container's own. It inherits nothing
// else from this process's environment: a laptop's shell has many settings that would break tasks.
func (l *launch) environment(cfg Config, image string, made *environments.Environment, place place) {
	base := &podenv.Environment{}
	proxied := false
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if inherited(cfg.InheritEnv, name) || l.ownImage() && inherited(cfg.OwnEnv, name) {
			base.Set(name, value)
			proxied = proxied || strings.HasSuffix(strings.ToLower(name), "s_proxy") || strings.ToLower(name) == "http_proxy"
		}
	}
	for name, value := range cfg.Env {
		base.Set(name, value)
	}
	if made != nil {
		for _, variable := range made.Variables(os.Getenv) {
			base.Set(variable.Name, variable.Value)
		}
	}
	for _, variable := range l.env.List() {
		name, value, _ := strings.Cut(variable, "=")
		base.Set(name, value)
	}
	if proxied {
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			value, _ := base.Get(name)
			base.Set(name, withLocal(value, podnet.Direct(l.pod)))
		}
	}
	base.Default("HOME", place.home)
	base.Default("TMPDIR", place.temp)
	base.Default("HOSTNAME", podnet.Hostname(l.pod))
	base.Default("LANG", "C.UTF-8")
	base.Default("PYTHONUNBUFFERED", "1")
	path, ok := base.Get("PATH")
	if !ok {
		path = os.Getenv("PATH")
	}
	if image != "" {
		path = filepath.Join(image, "bin") + string(os.PathListSeparator) + path
		base.Default("VIRTUAL_ENV", image)
	}
	base.Set("PATH", path)
	search := cfg.PythonPath
	if made != nil && made.WorkDir != "" {
		search = strings.TrimSuffix(filepath.Join(made.Files, made.WorkDir)+string(os.PathListSeparator)+search, string(os.PathListSeparator))
	}
	if search != "" {
		own, _ := base.Get("PYTHONPATH")
		base.Set("PYTHONPATH", strings.TrimPrefix(own+string(os.PathListSeparator)+search, string(os.PathListSeparator)))
	}
	if host, port, ok := l.w.n.apiAddress(); ok {
		base.Set("KUBERNETES_SERVICE_HOST", host)
		base.Set("KUBERNETES_SERVICE_PORT", port)
	} else {
		// An address that only exists in a cluster's network would make clients wait instead of fail.
		base.Unset("KUBERNETES_SERVICE_HOST")
		base.Unset("KUBERNETES_SERVICE_PORT")
	}
	l.showDevices(base)
	l.env = base
}

// ownCommand is the name of this binary in its own image.
const ownCommand = "flyte-binary"

// inherited reports whether a variable matches a pattern.
func inherited(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if prefix, star := strings.CutSuffix(pattern, "*"); pattern == name || (star && strings.HasPrefix(name, prefix)) {
			return true
		}
	}
	return false
}

// withLocal makes sure that this machine is not reached through a proxy.
func withLocal(list string, more []string) string {
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1", "ip6-localhost"}, more...) {
		if !strings.Contains(","+list+",", ","+host+",") {
			if list != "" {
				list += ","
			}
			list += host
		}
	}
	return list
}

// look finds the executable of a command as execvp would: by PATH, or relative to its directory. The path is the
// one that the process sees.
func (l *launch) look(name, work string) (string, error) {
	if name == "" {
		return "", errors.New("the name is empty")
	}
	if name == ownCommand && l.ownImage() {
		return l.w.n.cfg.executable()
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(work, name)
		}
		return name, l.executable(name)
	}
	path, _ := l.env.Get("PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(work, dir)
		}
		if candidate := filepath.Join(dir, name); l.executable(candidate) == nil {
			return candidate, nil
		}
	}
	return "", errors.New("there is no such file in the directories of its PATH")
}

// executable says why a path is not an executable file. It does not name the path, of which variables may be a part.
func (l *launch) executable(path string) error {
	info, err := os.Stat(l.seen(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the file does not exist")
	case err != nil:
		return reasonOf(err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return errors.New("it is not an executable file")
	}
	return nil
}

// reasonOf is an error of the file system without the path.
func reasonOf(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
