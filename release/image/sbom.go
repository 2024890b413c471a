package main

import (
	"bytes"
	"debug/buildinfo"
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

// element is a component in CycloneDX.
type element struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// readBOM is the given document of a platform, or one of the modules that its program was built from.
func readBOM(o order, platform string) ([]byte, error) {
	if path := o.boms[platform]; path != "" {
		return os.ReadFile(path)
	}
	linked, err := buildinfo.ReadFile(o.programs[platform])
	if err != nil {
		return nil, fmt.Errorf("modules of %s: %w", o.programs[platform], err)
	}
	parts := []element{{"library", "std", linked.GoVersion, "pkg:golang/std@" + linked.GoVersion}}
	for _, module := range linked.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, element{"library", module.Path, module.Version, "pkg:golang/" + module.Path + "@" + module.Version})
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{
			"timestamp": o.made.Format(time.RFC3339),
			"component": element{"application", "flyte-binary", o.version, "pkg:golang/" + linked.Main.Path + "@" + o.version},
		},
		"components": parts,
	}, "", "  ")
	return append(text, '\n'), err
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
