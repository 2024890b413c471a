// Package recipe translates the description of an image into the steps that make a Python environment of it. It is pure: it
// reads no file and starts nothing. What a description asks for and an environment cannot have is an error, or a note in
// plain words for the log of the build.
package recipe

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
)

// Recipe makes an environment.
type Recipe struct {
	// Python is the version of the interpreter, such as 3.11.
	Python string
	// SDK is the requirement of the SDK, which is installed first: the layers assume it.
	SDK string
	// Steps are taken in order.
	Steps []Step
	// Env are the variables of the image, in order.
	Env []environments.Variable
	// WorkDir is the working directory of the image, an absolute path. Copied files are below it.
	WorkDir string
	// Notes say what the environment lacks.
	Notes []string
}

// Step is one layer. Exactly one of the pointers is set.
type Step struct {
	Install *Install
	Sync    *Sync
	Poetry  *Poetry
	Command *Command
	Copy    *Copy
	System  *System
	// Secrets are those of the layer.
	Secrets []Secret
}

// Install installs packages.
type Install struct {
	// Packages are requirements, File is a file of requirements and Wheels a directory with the wheels of Packages, both in
	// the context.
	Packages []string
	File     string
	Wheels   string
	Options  Options
}

// Options are those of the installer.
type Options struct {
	IndexURL       string
	ExtraIndexURLs []string
	Pre            bool
	Args           []string
}

// Sync installs a project of uv.
type Sync struct {
	// Project is the directory of its pyproject.toml, Lock its lock file or empty; both are in the context.
	Project, Lock string
	Options       Options
}

// Poetry installs a project of Poetry.
type Poetry struct {
	// Project is the directory of its pyproject.toml, or that file; Lock is its lock file.
	Project, Lock string
	Args          []string
}

// Command runs a line of the shell in a directory of the image.
type Command struct{ Line, Dir string }

// Copy copies a file, or the content of a directory, of the context to an absolute path of the image. A path that ends with a
// slash is the directory of the file.
type Copy struct{ From, To string }

// System names packages of the system, which must be there.
type System struct{ Packages []string }

// Secret is a secret of a layer.
type Secret struct {
	// File is its path below the directory of secrets.
	File string
	// Variable is the environment variable that gets it.
	Variable string
}

// defaultWorkDir is the working directory of the SDK's images.
const defaultWorkDir = "/root"

// sdkBase matches the SDK's own images. Its groups are the versions of Python and of the SDK.
var sdkBase = regexp.MustCompile(`(?:^|/)flyte:py(3\.\d+)-v(\d+\.\d+[0-9A-Za-z.]*)$`)

// pythonBase matches the official images of Python, and those of the SDK without itself.
var pythonBase = regexp.MustCompile(`(?:^|/)(?:python:|flyte:py)(3\.\d+)`)

// pythonVersion is what a description may ask for.
var pythonVersion = regexp.MustCompile(`^3\.\d{1,2}$`)

// Of translates a description. ownSDK is the requirement of the SDK for base images that do not name its version. The error
// names the layer, counted from 1.
func Of(spec *imagebuilder.ImageSpec, ownSDK string) (*Recipe, error) {
	r := &Recipe{Python: spec.GetPythonVersion(), SDK: ownSDK, WorkDir: defaultWorkDir}
	switch match := sdkBase.FindStringSubmatch(spec.GetBaseImage()); {
	case match != nil:
		r.Python, r.SDK = match[1], "flyte=="+match[2]
	case spec.GetBaseImage() != "":
		if match := pythonBase.FindStringSubmatch(spec.GetBaseImage()); match != nil {
			r.Python = match[1]
		}
		r.note("The base image %s is not used: there are no containers on this machine. What it has besides Python and the SDK "+
			"is missing.", spec.GetBaseImage())
	}
	if !pythonVersion.MatchString(r.Python) {
		return nil, fmt.Errorf("python_version: want a version such as 3.12, got %q", cmp.Or(r.Python, spec.GetPythonVersion()))
	}
	for i, layer := range spec.GetLayers() {
		if err := r.add(layer); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	return r, r.checkCopies()
}

func (r *Recipe) note(format string, values ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, values...))
}

func (r *Recipe) add(layer *imagebuilder.Layer) error {
	switch of := layer.GetLayer().(type) {
	case *imagebuilder.Layer_PipPackages:
		return r.pipPackages(of.PipPackages)
	case *imagebuilder.Layer_Requirements:
		return r.requirements(of.Requirements)
	case *imagebuilder.Layer_PythonWheels:
		return r.pythonWheels(of.PythonWheels)
	case *imagebuilder.Layer_UvProject:
		return r.uvProject(of.UvProject)
	case *imagebuilder.Layer_PoetryProject:
		return r.poetryProject(of.PoetryProject)
	case *imagebuilder.Layer_AptPackages:
		return r.aptPackages(of.AptPackages)
	case *imagebuilder.Layer_Commands:
		return r.commands(of.Commands)
	case *imagebuilder.Layer_Workdir:
		return r.workDir(of.Workdir.GetWorkdir())
	case *imagebuilder.Layer_CopyConfig:
		return r.copyConfig(of.CopyConfig)
	case *imagebuilder.Layer_Env:
		return r.env(of.Env.GetEnvVariables())
	}
	return fmt.Errorf("its kind is not known to this version")
}

// step appends a step with the secrets of its layer.
func (r *Recipe) step(s Step, mounts []*core.Secret) error {
	for _, mount := range mounts {
		secret, err := secretOf(mount)
		if err != nil {
			return err
		}
		s.Secrets = append(s.Secrets, secret)
	}
	r.Steps = append(r.Steps, s)
	return nil
}

// checkCopies checks that the working directory has all copied files: nothing else of the image exists for a task.
func (r *Recipe) checkCopies() error {
	for _, step := range r.Steps {
		if step.Copy != nil && !within(path.Clean(step.Copy.To), r.WorkDir) {
			return fmt.Errorf("a file is copied to %s, outside of the working directory %s. A task on this machine sees only "+
				"what is copied below its working directory: use a relative path", step.Copy.To, r.WorkDir)
		}
	}
	return nil
}

// within reports whether an absolute path is a directory or below it.
func within(file, dir string) bool {
	return dir == "/" || file == dir || strings.HasPrefix(file, dir+"/")
}

// contextPath checks a path of the context.
func contextPath(field, name string) (string, error) {
	clean := path.Clean(name)
	if name == "" || path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "-") || control(name) {
		return "", fmt.Errorf("%s: want a relative path within the files of the client, got %q", field, name)
	}
	return clean, nil
}

// control reports whether a text has control characters, such as line breaks.
func control(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
