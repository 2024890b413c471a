package recipe

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
)

func (r *Recipe) pipPackages(layer *imagebuilder.PipPackages) error {
	install := &Install{Packages: layer.GetPackages()}
	if len(install.Packages) == 0 {
		return fmt.Errorf("pip_packages.packages: at least one is required")
	}
	for i, name := range install.Packages {
		if err := checkPackage(name); err != nil {
			return fmt.Errorf("pip_packages.packages[%d]: %w", i, err)
		}
	}
	return r.install("pip_packages", install, layer.GetOptions(), layer.GetSecretMounts())
}

func (r *Recipe) requirements(layer *imagebuilder.Requirements) error {
	file, err := contextPath("requirements.file", layer.GetFile())
	if err != nil {
		return err
	}
	return r.install("requirements", &Install{File: file}, layer.GetOptions(), layer.GetSecretMounts())
}

func (r *Recipe) pythonWheels(layer *imagebuilder.PythonWheels) error {
	dir, err := contextPath("python_wheels.dir", layer.GetDir())
	if err != nil {
		return err
	}
	if err := checkPackage(layer.GetPackageName()); err != nil {
		return fmt.Errorf("python_wheels.package_name: %w", err)
	}
	install := &Install{Packages: []string{layer.GetPackageName()}, Wheels: dir}
	return r.install("python_wheels", install, layer.GetOptions(), layer.GetSecretMounts())
}

func (r *Recipe) uvProject(layer *imagebuilder.UVProject) error {
	project, err := contextPath("uv_project.pyproject", layer.GetPyproject())
	if err != nil {
		return err
	}
	sync := &Sync{Project: project}
	if layer.GetUvlock() != "" {
		if sync.Lock, err = contextPath("uv_project.uvlock", layer.GetUvlock()); err != nil {
			return err
		}
	}
	if sync.Options, err = optionsOf("uv_project", layer.GetOptions()); err != nil {
		return err
	}
	return r.step(Step{Sync: sync}, layer.GetSecretMounts())
}

func (r *Recipe) poetryProject(layer *imagebuilder.PoetryProject) error {
	project, err := contextPath("poetry_project.pyproject", layer.GetPyproject())
	if err != nil {
		return err
	}
	lock, err := contextPath("poetry_project.poetry_lock", layer.GetPoetryLock())
	if err != nil {
		return err
	}
	args, err := poetryOptions.arguments("poetry_project.extra_args", layer.GetExtraArgs())
	if err != nil {
		return err
	}
	return r.step(Step{Poetry: &Poetry{Project: project, Lock: lock, Args: args}}, layer.GetSecretMounts())
}

// install appends the step of a layer that installs packages.
func (r *Recipe) install(layer string, install *Install, options *imagebuilder.PipOptions, mounts []*core.Secret) error {
	var err error
	if install.Options, err = optionsOf(layer, options); err != nil {
		return err
	}
	return r.step(Step{Install: install}, mounts)
}

func optionsOf(layer string, given *imagebuilder.PipOptions) (Options, error) {
	options := Options{IndexURL: given.GetIndexUrl(), ExtraIndexURLs: given.GetExtraIndexUrls(), Pre: given.GetPre()}
	if options.IndexURL != "" && !isIndex(options.IndexURL) {
		return options, fmt.Errorf("%s.options.index_url: want a URL, got %q", layer, options.IndexURL)
	}
	for i, address := range options.ExtraIndexURLs {
		if !isIndex(address) {
			return options, fmt.Errorf("%s.options.extra_index_urls[%d]: want a URL, got %q", layer, i, address)
		}
	}
	var err error
	options.Args, err = uvOptions.arguments(layer+".options.extra_args", given.GetExtraArgs())
	return options, err
}

// index matches the address of an index. It may contain the names of secrets, so it is not a URL yet.
var index = regexp.MustCompile(`^(https?|file)://[^\s]+$`)

func isIndex(address string) bool { return index.MatchString(address) && !control(address) }

// checkPackage refuses what the installer would not take for a requirement.
func checkPackage(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("is empty")
	case control(name):
		return fmt.Errorf("has a line break or another control character: %q", name)
	case strings.HasPrefix(strings.TrimSpace(name), "-"):
		return fmt.Errorf("is an option, not a package: %q. Options belong in extra_args", name)
	case strings.ContainsAny(name[:1], "/.~#") || strings.HasPrefix(name, "file:"):
		return fmt.Errorf("is a path, not a package: %q. Use with_source_folder, with_requirements or with_uv_project for files", name)
	}
	return nil
}

// Poetry's project may be given as its file.
func projectDir(name string) string {
	if path.Base(name) == "pyproject.toml" {
		return path.Dir(name)
	}
	return name
}

// Dir is the directory of the project.
func (p *Poetry) Dir() string { return projectDir(p.Project) }
