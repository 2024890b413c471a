package demo

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/datadir"
	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	"github.com/flyte-binary/flyte-binary/demo/operators"
	"github.com/flyte-binary/flyte-binary/demo/pyenv"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Options are the options of the demo.
type Options struct {
	// DataDir is the data directory. Default: demo below datadir.Home.
	DataDir string `config:"dataDir"`
	// Listen is the address of the one port, host:port. Port 0 picks a free one. Default 127.0.0.1:8088.
	Listen string `config:"listen"`
	// Ephemeral uses a temporary data directory that is deleted when the demo stops.
	Ephemeral bool `config:"ephemeral"`
	// Python is the environment in which tasks run. Default: as pyenv.Choose says.
	Python string `config:"python"`
	// Postgres is the directory of the database's programs, or "bundled" for those that this program brings. Default: as
	// postgres.Choose says.
	Postgres string `config:"postgres"`
	// Images maps images to environments other than Python. A * in the image's name matches any text.
	Images map[string]string `config:"images"`
	// CPUs is the total number of CPUs that pods may request. Default: as many as the machine has.
	CPUs float64 `config:"cpus"`
	// GPUs says which GPUs tasks may request: auto for those that nvidia-smi and rocm-smi find, off for none, or a file that lists them
	// in JSON. With off any task may use what the machine has. Default auto.
	GPUs string `config:"gpus"`
	// Warm is whether tasks may start from a process that has imported the SDK: on or off. Default on; on systems other
	// than Linux it has no effect.
	Warm string `config:"warm"`
	// With names operators whose work the demo does, so that tasks of their types run as clusters of processes: see operators.Names.
	// Linux only. Default none.
	With []string `config:"with"`
	// Environments is how many environments that were made for images are kept; those that were used last stay. Default 50.
	Environments int `config:"environments"`
	// Access lets only people who sign in use the demo: the accounts admin, contributor and viewer. It is for loopback addresses.
	Access bool `config:"access"`
	// Set overrides keys of the server's configuration, as section.key=value.
	Set []string `config:"set"`

	// sample is a Python file whose task main is run when the demo is up.
	sample string
	// profileKubernetes serves profiles of the API server, for measurements.
	profileKubernetes bool
	// gpus are those of the file GPUs.
	gpus []devices.Device
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

// complete sets defaults and makes paths absolute. The error lists the options that are wrong, by their keys.
func (o Options) complete() (Options, error) {
	var wrong invalid.Fields
	var err error
	if o.home, err = datadir.Home(); err != nil {
		return o, err
	}
	wrong.If(o.Ephemeral && o.DataDir != "", "ephemeral: this and dataDir (--data-dir) exclude each other: one deletes the data, the other keeps it")
	if o.DataDir == "" && !o.Ephemeral {
		if o.DataDir, err = datadir.Default(); err != nil {
			return o, err
		}
	}
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	host, _, err := net.SplitHostPort(o.Listen)
	wrong.If(err != nil, "listen: want host:port such as %s, got %q", defaultListen, o.Listen)
	wrong.If(err == nil && o.Access && !isLoopback(host), "access: the demo signs people in on loopback addresses alone, not on %s", o.Listen)
	if o.python, err = pyenv.Choose(o.Python, filepath.Join(o.home, "python")); err != nil {
		wrong.Add("python: %w", err)
	}
	o.images, err = o.nodeImages()
	wrong.Section("images", err)
	switch o.Warm {
	case "", "true": // YAML reads a bare on or off as a truth value
		o.Warm = warmOn
	case "false":
		o.Warm = warmOff
	case warmOn, warmOff:
	default:
		wrong.Add("warm: want %s or %s, got %q", warmOn, warmOff, o.Warm)
	}
	switch o.GPUs {
	case "":
		o.GPUs = gpusAuto
	case "false": // as above
		o.GPUs = gpusOff
	case gpusAuto, gpusOff:
	default:
		if o.gpus, err = devices.Read(o.GPUs); err != nil {
			wrong.Add("gpus: %w", err)
		}
	}
	for i, name := range o.With {
		wrong.If(!slices.Contains(operators.Names(), name), "with[%d]: want one of %s, got %q", i, strings.Join(operators.Names(), ", "), name)
		wrong.If(slices.Contains(o.With[:i], name), "with[%d]: %q is listed twice", i, name)
	}
	wrong.If(len(o.With) > 0 && !givesAddresses, "with: clusters of processes need the loopback addresses of Linux")
	wrong.If(o.Environments < 0, "environments: must not be negative, got %d", o.Environments)
	if o.Environments == 0 {
		o.Environments = node.DefaultConfig().Keep.Keep
	}
	wrong.If(o.CPUs < 0, "cpus: must not be negative, got %v", o.CPUs)
	if o.sample != "" {
		if _, err := os.Stat(o.sample); err != nil {
			wrong.Add("sample: %w", err)
		}
	}
	return o, wrong.Err()
}

// nodeImages is the mapping in the node's form. A missing directory is an error now, not when the first task uses it. The error
// lists what is wrong by the images' names.
func (o Options) nodeImages() ([]node.Image, error) {
	var images []node.Image
	var wrong invalid.Fields
	for _, name := range slices.Sorted(maps.Keys(o.Images)) {
		dir, err := filepath.Abs(o.Images[name])
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			wrong.Add("%s: %s is not a directory", name, dir)
			continue
		}
		images = append(images, node.Image{Pattern: name, Environment: dir})
	}
	return images, wrong.Err()
}
