package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
)

// imageHandler serves ImageService. Its methods are in files of their own, one use case each.
type imageHandler struct {
	imagebuilderconnect.UnimplementedImageServiceHandler
	svc *Service
}

var _ imagebuilderconnect.ImageServiceHandler = (*imageHandler)(nil)
