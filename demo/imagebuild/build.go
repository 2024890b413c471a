package imagebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/imagebuild/recipe"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
)

// maxSpec is the largest description, in bytes.
const maxSpec = 16 << 20

// Build is one build.
type Build struct {
	// Spec and Context are paths of the description and of the archive with the client's files, below Blobs. Context may be
	// empty.
	Spec, Context string
	// Target is the name of the image with its tag, which is a digest of the layers.
	Target string
	// Secrets is the directory with the secrets of the run.
	Secrets string
	// Blobs is the directory of the object store.
	Blobs string
	// SDK is the requirement of the SDK for base images that do not name its version.
	SDK string
	// Project, Domain and Run name the run of this build.
	Project, Domain, Run string
	// Runs tells about the run of this build.
	Runs Runs
	// Environ is the environment of the process, as NAME=value.
	Environ []string
	// Store has the environments.
	Store *environments.Store
	// Out is the log.
	Out io.Writer
}

func (b *Build) say(format string, values ...any) { _, _ = fmt.Fprintf(b.Out, format+"\n", values...) }

// Make returns the reference of the image. It makes the environment unless there is a sound one.
func (b *Build) Make(ctx context.Context) (string, error) {
	// Environments are found by the digest in the tag, so an image without one could never be reused.
	key, ok := environments.Image{Project: b.Project, Domain: b.Domain, Name: b.Target}.Key()
	if !ok {
		return "", fmt.Errorf("target_image: want a name whose tag is a digest of the layers (32 hexadecimal digits), got %q", b.Target)
	}
	spec, err := b.readSpec()
	if err != nil {
		return "", err
	}
	plan, err := recipe.Of(spec, b.SDK)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", b.Target, err)
	}
	wanted := environments.Wanted{}
	if wanted.Since, err = b.forcedSince(ctx); err != nil {
		return "", err
	}
	if wanted.Description, err = b.description(spec); err != nil {
		return "", err
	}
	waiting := func() { b.say("Another run builds this image. Waiting for it ...") }
	env, made, err := b.Store.Make(ctx, key, wanted, waiting, func(ctx context.Context, env environments.Environment) (environments.Record, error) {
		return b.build(ctx, plan, env)
	})
	if err != nil {
		return "", err
	}
	if !made {
		b.say("The image %s exists: its environment was made at %s by run %s/%s/%s.", b.Target, env.Made.Format(time.RFC3339),
			env.Project, env.Domain, env.Run)
	}
	return b.Target, nil
}

// build fills an environment.
func (b *Build) build(ctx context.Context, plan *recipe.Recipe, env environments.Environment) (environments.Record, error) {
	record := environments.Record{Image: b.Target, Env: plan.Env, Project: b.Project, Domain: b.Domain, Run: b.Run}
	b.say("Building a Python environment for image %s. This machine's processes use it in place of the image.", b.Target)
	for _, note := range plan.Notes {
		b.say("Note: %s", note)
	}
	scratch, err := os.MkdirTemp("", "image-")
	if err != nil {
		return record, fmt.Errorf("create a temporary directory: %w", err)
	}
	// It has the client's files and what the commands of the image leave behind.
	defer func() { _ = os.RemoveAll(scratch) }()
	files := filepath.Join(scratch, "context")
	if err := os.Mkdir(files, 0o700); err != nil {
		return record, fmt.Errorf("create a temporary directory: %w", err)
	}
	if b.Context != "" {
		if err := b.unpackContext(files); err != nil {
			return record, err
		}
	}
	w := &worker{build: b, env: env, plan: plan, context: files, scratch: scratch, out: b.Out}
	if err := w.begin(ctx); err != nil {
		return record, err
	}
	for i, step := range plan.Steps {
		if err := w.take(ctx, step); err != nil {
			return record, fmt.Errorf("layer step %d of %d: %w", i+1, len(plan.Steps), err)
		}
	}
	record.Warning = w.check(ctx)
	if w.copied {
		record.WorkDir = strings.TrimPrefix(plan.WorkDir, "/")
	}
	b.say("Done.")
	return record, nil
}

func (b *Build) readSpec() (*imagebuilder.ImageSpec, error) {
	file, err := b.object("spec", b.Spec)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	body, err := io.ReadAll(io.LimitReader(file, maxSpec+1))
	if err != nil {
		return nil, fmt.Errorf("spec: read %s: %w", b.Spec, err)
	}
	if len(body) > maxSpec {
		return nil, fmt.Errorf("spec: %s is larger than %d bytes", b.Spec, maxSpec)
	}
	spec := &imagebuilder.ImageSpec{}
	if err := proto.Unmarshal(body, spec); err != nil {
		return nil, fmt.Errorf("spec: %s is not the description of an image: %w", b.Spec, err)
	}
	return spec, nil
}

// object opens an object of the store. No path leads out of the store, not even through links.
func (b *Build) object(field, uri string) (*os.File, error) {
	name := path.Clean(strings.TrimPrefix(uri, "file://"))
	relative, err := filepath.Rel(b.Blobs, name)
	if err != nil || !filepath.IsLocal(relative) || !path.IsAbs(name) {
		return nil, fmt.Errorf("%s: %q is not in the object store %s", field, uri, b.Blobs)
	}
	root, err := os.OpenRoot(b.Blobs)
	if err != nil {
		return nil, fmt.Errorf("%s: open the object store: %w", field, err)
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(relative)
	if err != nil {
		return nil, fmt.Errorf("%s: open %s: %w", field, uri, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %s: %w", field, uri, err), file.Close())
	}
	return file, nil
}
