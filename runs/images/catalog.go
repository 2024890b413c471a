package images

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// Store remembers images and lists runs that are not remembered; catalog.BuiltImages does.
type Store interface {
	Find(ctx context.Context, project, domain, name string) (image catalog.BuiltImage, exists bool, err error)
	Unread(ctx context.Context, task ident.Run, project, domain string, limit int) ([]catalog.UnreadBuild, error)
	Remember(ctx context.Context, image catalog.BuiltImage) error
}

// buildsAtOnce is how many runs one request for an image reads.
const buildsAtOnce = 100

// maxData is the largest document of inputs or outputs that is read, in bytes. Both have a few short texts.
const maxData = 1 << 20

// BuiltByRuns is the catalog of an installation whose images an outside builder makes: an image exists once a run of the
// configured builder has succeeded. Runs are read when someone asks, and each only once, so that the state machine knows
// nothing of images. A project and domain see only their own images: the server cannot check that a reference has the
// content that its name promises.
type BuiltByRuns struct {
	builder Builder
	store   Store
	objects actiondata.Objects
	mu      sync.Mutex // held while runs are read: many clients ask at once
}

var _ Catalog = (*BuiltByRuns)(nil)

// NewBuiltByRuns returns the catalog.
func NewBuiltByRuns(builder Builder, built Store, objects actiondata.Objects) *BuiltByRuns {
	return &BuiltByRuns{builder: builder, store: built, objects: objects}
}

// Find implements Catalog. Runs are read for an image that is known, too: it may have been built again.
func (b *BuiltByRuns) Find(ctx context.Context, project, domain, name string) (*Built, error) {
	unread := b.readRuns(ctx, project, domain)
	found, exists, err := b.store.Find(ctx, project, domain, name)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, unread // an image that exists does not need the object store
	}
	return &Built{Reference: found.Reference, Run: &common.RunIdentifier{Project: project, Domain: domain, Name: found.Run.Name}}, nil
}

// readRuns remembers what runs have built since the last request.
func (b *BuiltByRuns) readRuns(ctx context.Context, project, domain string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		builds, err := b.store.Unread(ctx, ident.Run{Project: taskProject, Domain: taskDomain, Name: taskName}, project, domain, buildsAtOnce)
		if err != nil {
			return err
		}
		for i := range builds {
			image, err := b.read(ctx, &builds[i])
			if err != nil {
				return err
			}
			if err := b.store.Remember(ctx, image); err != nil {
				return err
			}
		}
		if len(builds) < buildsAtOnce {
			return nil
		}
	}
}

// read returns what a run has built. The name stays empty for a run that is not one of the configured builder, or whose data
// are missing or no texts.
func (b *BuiltByRuns) read(ctx context.Context, build *catalog.UnreadBuild) (catalog.BuiltImage, error) {
	image := catalog.BuiltImage{ActionID: build.ActionID, Run: build.Run, BuiltAt: build.BuiltAt}
	if !b.ours(build.Spec) || build.InputURI == "" {
		return image, nil
	}
	inputs, outputs := &task.Inputs{}, &task.Outputs{}
	_, err := actiondata.Read(ctx, b.objects, blobpath.InputsPath(build.InputURI), inputs, maxData)
	if err == nil {
		_, err = actiondata.Read(ctx, b.objects, blobpath.OutputsPath(build.OutputURI), outputs, maxData)
	}
	if err != nil && connect.CodeOf(err) == connect.CodeUnavailable {
		return image, err
	}
	target, reference := textOf(inputs.GetLiterals(), inputTarget), textOf(outputs.GetLiterals(), outputImage)
	if name := target[strings.LastIndexByte(target, '/')+1:]; Described(name) && isReference(reference) {
		image.Name, image.Reference = name, reference
	}
	return image, nil
}

// ours reports whether a run has the container of the configured builder: clients send the task with the run, and could
// send another one.
func (b *BuiltByRuns) ours(body []byte) bool {
	spec := &task.TaskSpec{}
	return proto.Unmarshal(body, spec) == nil &&
		proto.Equal(spec.GetTaskTemplate().GetContainer(), b.builder.template().GetContainer()) &&
		spec.GetTaskTemplate().GetMetadata().GetPodTemplateName() == b.builder.PodTemplate
}

func textOf(literals []*task.NamedLiteral, name string) string {
	for _, literal := range literals {
		if literal.GetName() == name {
			return literal.GetValue().GetScalar().GetPrimitive().GetStringValue()
		}
	}
	return ""
}

// reference matches what may be the name of an image.
var reference = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,1000}$`)

func isReference(text string) bool { return reference.MatchString(text) }
