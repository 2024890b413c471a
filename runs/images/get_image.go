// Package images serves ImageService, which answers the references of images from the configuration.
package images

import (
	"context"
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// imageName stands for the requested name in Config.Default.
const imageName = "{name}"

// Config says what ImageService.GetImage answers. An answer keeps clients from starting an image build.
type Config struct {
	// Mapping is searched first, in order.
	Mapping []Mapping `mapstructure:"mapping"`
	// Default is the full reference of every other image; {name} stands for the requested name. When it is
	// empty, other images are not found, and clients try to build them.
	Default string `mapstructure:"default"`
}

// Mapping answers one image.
type Mapping struct {
	// Name is the requested name with its tag, or the name alone for every tag.
	Name string `mapstructure:"name"`
	// Image is the full reference to answer.
	Image string `mapstructure:"image"`
}

// DefaultConfig answers every name with itself, which suits a node that maps names to what it has.
func DefaultConfig() Config { return Config{Default: imageName} }

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	for i, mapping := range c.Mapping {
		if mapping.Name == "" {
			return fmt.Errorf("mapping[%d].name: is missing", i)
		}
		if mapping.Image == "" {
			return fmt.Errorf("mapping[%d].image: is missing", i)
		}
	}
	return nil
}

// find is the full reference for a requested name; empty when there is none.
func (c Config) find(name string) string {
	untagged, _, _ := strings.Cut(name, ":")
	for _, mapping := range c.Mapping {
		if mapping.Name == name || mapping.Name == untagged {
			return mapping.Image
		}
	}
	return strings.ReplaceAll(c.Default, imageName, name)
}

// Handler serves ImageService.
type Handler struct{ config Config }

var _ imagebuilderconnect.ImageServiceHandler = (*Handler)(nil)

// New returns the handler.
func New(config Config) *Handler { return &Handler{config: config} }

// GetImage implements imagebuilderconnect.ImageServiceHandler.
func (h *Handler) GetImage(_ context.Context, request *imagebuilder.GetImageRequest) (*imagebuilder.GetImageResponse, error) {
	image := h.config.find(request.GetId().GetName())
	if image == "" {
		return nil, rpc.NotFound("image %s is not configured", request.GetId().GetName())
	}
	return &imagebuilder.GetImageResponse{Image: &imagebuilder.Image{Id: request.GetId(), Fqin: image}}, nil
}
