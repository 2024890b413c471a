package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// write makes an OCI layout of the image and of what refers to it.
func (p *product) write(dir string) error {
	// A layout that is added to would keep the images of earlier builds.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("layout %s: %w", dir, err)
	}
	if err := path.AppendIndex(p.index); err != nil {
		return fmt.Errorf("layout %s: %w", dir, err)
	}
	for _, bom := range p.boms {
		if err := path.AppendImage(bom); err != nil {
			return fmt.Errorf("layout %s: %w", dir, err)
		}
	}
	return nil
}

// push sends the image to a registry under a tag, and what refers to it by digest. The credentials are those that docker login
// or a similar program has stored.
func (p *product) push(ctx context.Context, to string, insecure bool) error {
	options := []name.Option{name.StrictValidation}
	if insecure {
		options = append(options, name.Insecure)
	}
	reference, err := name.ParseReference(to, options...)
	if err != nil {
		return err
	}
	with := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(reference, p.index, with...); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	for _, bom := range p.boms {
		digest, err := bom.Digest()
		if err != nil {
			return err
		}
		if err := remote.Write(reference.Context().Digest(digest.String()), bom, with...); err != nil {
			return fmt.Errorf("push what refers to %s: %w", reference, err)
		}
	}
	return nil
}

// report prints the digest, and the size that a node downloads.
func (p *product) report(out io.Writer) error {
	digest, err := p.index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "digest", digest)
	manifest, err := p.index.IndexManifest()
	if err != nil {
		return err
	}
	for _, one := range manifest.Manifests {
		image, err := p.index.Image(one.Digest)
		if err != nil {
			return err
		}
		size, err := compressed(image)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-12s %s  %.1f MiB\n", one.Platform, one.Digest, float64(size)/(1<<20))
	}
	return nil
}

func compressed(image v1.Image) (int64, error) {
	layers, err := image.Layers()
	if err != nil {
		return 0, err
	}
	var total int64
	for _, layer := range layers {
		size, err := layer.Size()
		if err != nil {
			return 0, err
		}
		total += size
	}
	return total, nil
}
