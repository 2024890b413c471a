package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// account is the user and group of the program. No image has another with this number by accident.
const account = "65532:65532"

// product is an image for several platforms, with what refers to it.
type product struct {
	index v1.ImageIndex
	// boms refer to the index and to the images of platforms.
	boms []v1.Image
}

// build makes the images in the order of their platforms, since the order is part of the digest.
func build(o order) (*product, error) {
	annotations := labels(o)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	type listed struct {
		subject v1.Descriptor
		bom     []byte
	}
	var all []listed
	for _, platform := range slices.Sorted(maps.Keys(o.programs)) {
		image, err := platformImage(o, platform)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", platform, err)
		}
		described, err := partial.Descriptor(image)
		if err != nil {
			return nil, err
		}
		described.Platform, err = v1.ParsePlatform(platform)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: *described})
		bom, err := readBOM(o, platform)
		if err != nil {
			return nil, err
		}
		all = append(all, listed{v1.Descriptor{MediaType: described.MediaType, Size: described.Size, Digest: described.Digest}, bom})
	}
	annotated, ok := mutate.Annotations(index, annotations).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotate the index: it is a %T", index)
	}
	described, err := partial.Descriptor(annotated)
	if err != nil {
		return nil, err
	}
	// The programs of all platforms have the same modules, so the first document serves for the whole too.
	all = append(all, listed{v1.Descriptor{MediaType: described.MediaType, Size: described.Size, Digest: described.Digest}, all[0].bom})
	made := &product{index: annotated}
	for _, one := range all {
		referrer, err := bomImage(one.bom, one.subject, o.made)
		if err != nil {
			return nil, fmt.Errorf("list of components: %w", err)
		}
		made.boms = append(made.boms, referrer)
	}
	return made, nil
}

// labels are those of the OCI image specification. The time is that of the commit, for the same digest each time.
func labels(o order) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "flyte-binary",
		"org.opencontainers.image.description":   "A complete Flyte 2 backend in one container",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.source":        "https://github.com/flyte-binary/flyte-binary",
		"org.opencontainers.image.documentation": "https://github.com/flyte-binary/flyte-binary/blob/main/docs/install-on-kubernetes.md",
		"org.opencontainers.image.version":       o.version,
		"org.opencontainers.image.revision":      cmp.Or(o.revision, "unknown"),
		"org.opencontainers.image.created":       o.made.Format(time.RFC3339),
	}
}

// platformImage has two layers: the first changes rarely, so nodes that have an earlier version download only the
// program.
func platformImage(o order, platform string) (v1.Image, error) {
	program, err := os.ReadFile(o.programs[platform])
	if err != nil {
		return nil, err
	}
	layers := make([]mutate.Addendum, 0, 2)
	for _, part := range []struct {
		comment string
		files   []file
	}{{"certificates and accounts", systemFiles()}, {"the program", []file{{name: "usr/local/bin/flyte-binary", mode: 0o755, body: program}}}} {
		layer, err := newLayer(part.files, o.made)
		if err != nil {
			return nil, err
		}
		layers = append(layers, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: o.made}, CreatedBy: "release/image", Comment: part.comment}})
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, _ = strings.Cut(platform, "/")
	config.Architecture, config.Variant, _ = strings.Cut(config.Architecture, "/")
	config.Created = v1.Time{Time: o.made}
	config.Config = v1.Config{
		User: account, WorkingDir: "/", Entrypoint: []string{"flyte-binary"}, Cmd: []string{"help"},
		Env:          []string{"PATH=/usr/local/bin"},
		Labels:       labels(o),
		ExposedPorts: map[string]struct{}{"8090/tcp": {}},
	}
	return mutate.ConfigFile(image, config)
}
