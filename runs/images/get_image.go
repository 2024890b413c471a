// Package images serves ImageService, and offers the task that builds images. A client asks for the image of a task by a
// name whose tag is a digest of its layers. When no one has built it, the client runs the task build-image with the
// description of the image, and the reference that the run returns is the image of its tasks from then on.
package images

import (
	"context"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Built is an image that exists.
type Built struct {
	// Reference is what the container of a task names.
	Reference string
	// Run is the run that built it; nil if that is not known.
	Run *common.RunIdentifier
}

// Catalog knows the images that were built.
type Catalog interface {
	// Find returns the image that a client of the project and domain calls name; nil if no one has built it.
	Find(ctx context.Context, project, domain, name string) (*Built, error)
}

// Handler serves ImageService.
type Handler struct {
	config  Config
	catalog Catalog
}

var _ imagebuilderconnect.ImageServiceHandler = (*Handler)(nil)

// New returns the handler. Without a catalog the configuration alone answers.
func New(config Config, catalog Catalog) *Handler { return &Handler{config: config, catalog: catalog} }

// GetImage implements imagebuilderconnect.ImageServiceHandler.
func (h *Handler) GetImage(ctx context.Context, request *imagebuilder.GetImageRequest) (*imagebuilder.GetImageResponse, error) {
	name := request.GetId().GetName()
	image := &imagebuilder.Image{Id: request.GetId(), Fqin: h.config.mapped(name)}
	switch {
	case image.GetFqin() != "":
	case h.catalog != nil && Described(name):
		built, err := h.catalog.Find(ctx, request.GetProjectId().GetName(), request.GetProjectId().GetDomain(), name)
		if err != nil {
			return nil, err
		}
		if built == nil {
			return nil, rpc.NotFound("image %s has not been built; a client whose configuration has `image: {builder: remote}` builds it", name)
		}
		image.Fqin, image.BuildRun = built.Reference, built.Run
	default:
		image.Fqin = strings.ReplaceAll(h.config.Default, imageName, name)
	}
	if image.GetFqin() == "" {
		return nil, rpc.NotFound("image %s is not configured", name)
	}
	return &imagebuilder.GetImageResponse{Image: image}, nil
}
