package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// cycloneDX is the media type of lists of components.
const cycloneDX = types.MediaType("application/vnd.cyclonedx+json")

// readBOM is the document of a platform, which `go run ./release -sbom` makes as for the downloads.
func readBOM(o order, platform string) ([]byte, error) {
	bom, err := os.ReadFile(o.boms[platform])
	if err != nil {
		return nil, fmt.Errorf("-sbom of %s: %w", platform, err)
	}
	if !json.Valid(bom) {
		return nil, fmt.Errorf("-sbom of %s: %s is not a CycloneDX document in JSON", platform, o.boms[platform])
	}
	return bom, nil
}

// bomImage is a document as an artifact that refers to an image.
func bomImage(bom []byte, subject v1.Descriptor, made time.Time) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), cycloneDX)
	image, err := mutate.Append(base, mutate.Addendum{Layer: static.NewLayer(bytes.Clone(bom), cycloneDX)})
	if err != nil {
		return nil, err
	}
	annotated := mutate.Annotations(image, map[string]string{"org.opencontainers.image.created": made.Format(time.RFC3339)})
	referring, ok := mutate.Subject(annotated, subject).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("the artifact is a %T", annotated)
	}
	return referring, nil
}
