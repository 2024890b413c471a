package images

import (
	"regexp"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// imageName represents the requested name in Config.Default.
const imageName = "{name}"

// Config says what ImageService.GetImage answers, and who builds images. Clients build what it does not know.
type Config struct {
	// Mapping is searched first, in order.
	Mapping []Mapping `config:"mapping"`
	// Default is the full reference of every other image; {name} represents the requested name. When it is
	// empty, other images are not found, and clients try to build them.
	Default string `config:"default"`
	// Builder builds the images that clients describe; images.md has examples. Without one, no image is built.
	Builder Builder `config:"builder"`
}

// Mapping answers one image.
type Mapping struct {
	// Name is the requested name with its tag, or the name alone for every tag.
	Name string `config:"name"`
	// Image is the full reference to answer.
	Image string `config:"image"`
}

// Builder is the container of the task system/production/build-image. It writes the reference of the image that it built to
// the file image in its output directory.
type Builder struct {
	// Image is the container's image. Empty: there is no builder.
	Image string `config:"image"`
	// Command is the container's command; empty means that of the image.
	Command []string `config:"command"`
	// Args are its arguments. {{.inputs.spec}} and {{.inputs.context}} represent the URIs of the description and of the
	// archive with the client's files, which may be empty; {{.inputs.target_image}} represents the name of the image.
	Args []string `config:"args"`
	// Env are variables for the container, as NAME=value.
	Env []string `config:"env"`
	// CPU and Memory are what it requests. Default: those of every task that requests nothing.
	CPU    string `config:"cpu"`
	Memory string `config:"memory"`
	// PodTemplate names a pod template of the cluster for its pod; empty for none.
	PodTemplate string `config:"podTemplate"`
}

// Enabled reports whether there is a builder.
func (b Builder) Enabled() bool { return b.Image != "" }

// DefaultConfig answers every name with itself, which suits a node that maps names to what it has.
func DefaultConfig() Config { return Config{Default: imageName} }

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	for i, mapping := range c.Mapping {
		found.If(mapping.Name == "", "mapping[%d].name: is missing", i)
		found.If(mapping.Image == "", "mapping[%d].image: is missing", i)
	}
	found.If(!c.Builder.Enabled() && len(c.Builder.Command)+len(c.Builder.Args) > 0, "builder.image: is missing")
	for i, variable := range c.Builder.Env {
		if name, _, complete := strings.Cut(variable, "="); !complete || name == "" {
			found.Add("builder.env[%d]: want NAME=value, got %q", i, variable)
		}
	}
	return found.Err()
}

// mapped is the configured reference of a name; empty when there is none.
func (c Config) mapped(name string) string {
	untagged, _, _ := strings.Cut(name, ":")
	for _, mapping := range c.Mapping {
		if mapping.Name == name || mapping.Name == untagged {
			return mapping.Image
		}
	}
	return ""
}

// digestTag matches the names of images that clients describe: their tag is a digest of the layers.
var digestTag = regexp.MustCompile(`^[^/]+:[0-9a-f]{32}$`)

// Described reports whether an image was described by a client, so that it exists only if someone has built it.
func Described(name string) bool { return digestTag.MatchString(name) }
