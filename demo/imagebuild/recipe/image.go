package recipe

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
)

// variableName matches the names of environment variables.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ofContainer are variables that say where an image has its environment, and settings of its installer.
var ofContainer = []string{"VIRTUAL_ENV", "VIRTUALENV", "UV_PYTHON", "UV_LINK_MODE", "UV_COMPILE_BYTECODE"} //nolint:gochecknoglobals // a table

func (r *Recipe) env(variables map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := variables[name]
		if !variableName.MatchString(name) || strings.ContainsRune(value, 0) {
			return fmt.Errorf("env.env_variables: %q=%q cannot be an environment variable", name, value)
		}
		if slices.Contains(ofContainer, name) {
			continue
		}
		if strings.HasPrefix(name, "LD_") || name == "PYTHONHOME" {
			r.note("The variable %s=%s is not set: it names files of a container.", name, value)
			continue
		}
		r.Env = append(r.Env, environments.Variable{Name: name, Value: value})
	}
	return nil
}

func (r *Recipe) workDir(dir string) error {
	if dir == "" || control(dir) {
		return fmt.Errorf("workdir: want a path, got %q", dir)
	}
	r.WorkDir = path.Join(r.absolute(dir), "/")
	if r.WorkDir == "/" {
		return fmt.Errorf("workdir: %q is the root directory", dir)
	}
	return nil
}

// absolute is a path of the image.
func (r *Recipe) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(r.WorkDir, name)
}

func (r *Recipe) copyConfig(layer *imagebuilder.CopyConfig) error {
	from, err := contextPath("copy_config.src", layer.GetSrc())
	if err != nil {
		return err
	}
	if control(layer.GetDst()) {
		return fmt.Errorf("copy_config.dst: has control characters: %q", layer.GetDst())
	}
	to := r.absolute(layer.GetDst())
	if strings.HasSuffix(layer.GetDst(), "/") || to == r.WorkDir {
		to += "/" // into the directory
	}
	return r.step(Step{Copy: &Copy{From: from, To: to}}, nil)
}

// createsUser is part of the command that the SDK adds to its images. It creates the user of the container.
const createsUser = "useradd --create-home --shell /bin/bash flyte"

// installsPixi is part of the command with which the SDK replaces a layer of pixi.
const installsPixi = "https://pixi.sh/install.sh"

func (r *Recipe) commands(layer *imagebuilder.Commands) error {
	for i, line := range layer.GetCmd() {
		switch {
		case strings.TrimSpace(line) == "" || strings.ContainsRune(line, 0):
			return fmt.Errorf("commands.cmd[%d]: is empty or has a NUL", i)
		case strings.Contains(line, installsPixi):
			return fmt.Errorf("commands.cmd[%d]: the image is made by pixi, which installs a Python and packages of conda of its own. An "+
				"environment of this machine cannot have them: list the packages with with_pip_packages, with_uv_project or "+
				"with_poetry_project, or give the demo an environment for the image with --image NAME=DIR", i)
		case strings.Contains(line, createsUser):
			r.note("The command that creates the user of the container is left out: tasks run as the user of the demo.")
			continue
		}
		if err := r.step(Step{Command: &Command{Line: line, Dir: r.WorkDir}}, layer.GetSecretMounts()); err != nil {
			return err
		}
	}
	return nil
}

// systemPackage matches the name of a package of Debian, with or without a version.
var systemPackage = regexp.MustCompile(`^([a-z0-9][a-z0-9+.-]+)(:[a-z0-9]+)?(=\S+)?$`)

func (r *Recipe) aptPackages(layer *imagebuilder.AptPackages) error {
	system := &System{}
	for i, name := range layer.GetPackages() {
		match := systemPackage.FindStringSubmatch(strings.TrimSpace(name))
		if match == nil {
			return fmt.Errorf("apt_packages.packages[%d]: %q is not the name of a package", i, name)
		}
		system.Packages = append(system.Packages, match[1])
	}
	return r.step(Step{System: system}, layer.GetSecretMounts())
}

// secretOf says how the installer gets a secret.
func secretOf(mount *core.Secret) (Secret, error) {
	group, key := mount.GetGroup(), mount.GetKey()
	for _, part := range []string{group, key} {
		if strings.ContainsAny(part, "/\\\x00") || part == ".." || part == "." {
			return Secret{}, fmt.Errorf("secret_mounts: %q cannot name a secret", part)
		}
	}
	if key == "" {
		return Secret{}, fmt.Errorf("secret_mounts: a secret has no key")
	}
	secret := Secret{File: path.Join(group, key), Variable: mount.GetEnvVar()}
	if secret.Variable == "" {
		name := strings.TrimPrefix(group+"_"+key, "_")
		secret.Variable = strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	}
	if !variableName.MatchString(secret.Variable) {
		return Secret{}, fmt.Errorf("secret_mounts: secret %s cannot be the variable %q", secret.File, secret.Variable)
	}
	return secret, nil
}
