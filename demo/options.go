package demo

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/datadir"
	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/pyenv"
	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// Options are the options of the demo.
type Options struct {
	// DataDir is the data directory. Default: demo below datadir.Home.
	DataDir string `mapstructure:"dataDir"`
	// Listen is the address of the one port, host:port. Port 0 picks a free one. Default 127.0.0.1:8088.
	Listen string `mapstructure:"listen"`
	// Ephemeral uses a temporary data directory that is deleted when the demo stops.
	Ephemeral bool `mapstructure:"ephemeral"`
	// Python is the environment in which tasks run. Default: as pyenv.Choose says.
	Python string `mapstructure:"python"`
	// Postgres is the directory of the database's programs, or "bundled" for those that this program brings. Default: as
	// postgres.Choose says.
	Postgres string `mapstructure:"postgres"`
	// Images maps images to environments other than Python. A * in the image's name matches any text.
	Images map[string]string `mapstructure:"images"`
	// CPUs is the total number of CPUs that pods may request. Default: as many as the machine has.
	CPUs float64 `mapstructure:"cpus"`
	// Warm is whether tasks may start from a process that has imported the SDK: on or off. Default on; on systems other
	// than Linux it has no effect.
	Warm string `mapstructure:"warm"`
	// Environments is how many environments that were made for images are kept; those that were used last stay. Default 50.
	Environments int `mapstructure:"environments"`
	// Set overrides keys of the server's configuration, as section.key=value.
	Set []string `mapstructure:"set"`

	// sample is a Python file whose task main is run when the demo is up.
	sample string
	// images is Images in the node's form.
	images []node.Image
	// python is the environment in full.
	python pyenv.Environment
	// home is where demos of this user share what they unpack and install.
	home string
}

// Not 8090, the port of a server: for localhost:8090 the released SDK prints links to localhost:8080.
const defaultListen = "127.0.0.1:8088"

// The values of Options.Warm.
const (
	warmOn  = "on"
	warmOff = "off"
)

// readFile reads the section demo of a configuration file.
func readFile(path string) (Options, error) {
	var file struct {
		Demo Options `mapstructure:"demo"`
	}
	if _, err := layers.Read(&file, layers.Sources{File: path}); err != nil {
		return Options{}, fmt.Errorf("configuration: %w", err)
	}
	return file.Demo, nil
}

// complete sets defaults and makes paths absolute.
func (o Options) complete() (Options, error) {
	if o.Ephemeral && o.DataDir != "" {
		return o, errors.New("--ephemeral and --data-dir exclude each other: one deletes the data, the other keeps it")
	}
	var err error
	if o.DataDir == "" && !o.Ephemeral {
		if o.DataDir, err = datadir.Default(); err != nil {
			return o, err
		}
	}
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return o, fmt.Errorf("--listen: want host:port such as %s, got %q", defaultListen, o.Listen)
	}
	if o.home, err = datadir.Home(); err != nil {
		return o, err
	}
	if o.python, err = pyenv.Choose(o.Python, filepath.Join(o.home, "python")); err != nil {
		return o, err
	}
	if o.images, err = o.nodeImages(); err != nil {
		return o, err
	}
	switch o.Warm {
	case "", "true": // YAML reads a bare on or off as a truth value
		o.Warm = warmOn
	case "false":
		o.Warm = warmOff
	case warmOn, warmOff:
	default:
		return o, fmt.Errorf("--warm: want %s or %s, got %q", warmOn, warmOff, o.Warm)
	}
	if o.Environments == 0 {
		o.Environments = node.DefaultConfig().Keep.Keep
	}
	if o.Environments < 0 {
		return o, fmt.Errorf("environments: must not be negative, got %d", o.Environments)
	}
	if o.CPUs < 0 {
		return o, fmt.Errorf("--cpus: must not be negative, got %v", o.CPUs)
	}
	if o.sample != "" {
		if _, err := os.Stat(o.sample); err != nil {
			return o, fmt.Errorf("--sample: %w", err)
		}
	}
	return o, nil
}

// addImages parses the values of --image, name=directory.
func (o *Options) addImages(words []string) error {
	for _, word := range words {
		name, dir, found := strings.Cut(word, "=")
		if !found || name == "" || dir == "" {
			return fmt.Errorf("--image %s: want name=directory", word)
		}
		if o.Images == nil {
			o.Images = map[string]string{}
		}
		o.Images[name] = dir
	}
	return nil
}

// nodeImages is the mapping in the node's form. A missing directory is an error now, not when the first task uses it.
func (o Options) nodeImages() ([]node.Image, error) {
	var images []node.Image
	for name, dir := range o.Images {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("--image %s: %w", name, err)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--image %s: %s is not a directory", name, dir)
		}
		images = append(images, node.Image{Pattern: name, Environment: dir})
	}
	slices.SortFunc(images, func(a, b node.Image) int { return strings.Compare(a.Pattern, b.Pattern) })
	return images, nil
}
