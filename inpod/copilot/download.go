package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// maxInputs is the largest inputs.pb, in bytes. It is held in memory with its JSON form. Files are not part of it.
	maxInputs = 256 << 20
	// transfers is how many files are transferred at once. More would mostly share the same bandwidth, and the helper
	// container has a small memory limit.
	transfers = 8
	// unfinished is the name of the document until it is complete.
	unfinished = ".inputs.unfinished"
)

// Download downloads the inputs of one attempt.
type Download struct {
	// Inputs is the URI of inputs.pb, or of the directory that has it; empty when there are none.
	Inputs string
	// Dir is the directory to fill. Its content is removed first: an interrupted download or an earlier run of the
	// container may have left it.
	Dir string
	// Format of the document that has all inputs.
	Format core.DataLoadingConfig_LiteralMapFormat
	// Layout says where files go.
	Layout core.DataLoadingConfig_FileInputLayout
	// Blobs is the object store.
	Blobs Blobs
	// Clock is the source of time.
	Clock clock.Clock
}

// Run fills the directory. The document with all inputs is written last and atomically: if it exists, the inputs are complete.
func (d Download) Run(ctx context.Context) error {
	root, err := os.OpenRoot(d.Dir)
	if err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	defer func() { _ = root.Close() }()
	if err := empty(root); err != nil {
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	if d.Inputs == "" {
		return nil
	}
	encoded, inputs, err := d.read(ctx)
	if err != nil {
		return err
	}
	group, transferring := errgroup.WithContext(ctx)
	group.SetLimit(transfers)
	p := &placer{
		ctx: transferring, group: group, root: root, dir: d.Dir, blobs: d.Blobs, clock: d.Clock,
		document: documentName(d.Format), named: d.Layout == core.DataLoadingConfig_NAMED_DIR,
	}
	values, err := p.placeAll(inputs)
	if err = errors.Join(group.Wait(), err); err != nil {
		return err
	}
	return d.writeDocument(root, encoded, values)
}

// read reads inputs.pb. It returns the bytes as well, since the document in the format PROTO has the same ones.
func (d Download) read(ctx context.Context) ([]byte, []*task.NamedLiteral, error) {
	var encoded []byte
	uri := blobpath.InputsPath(d.Inputs)
	err := again(ctx, d.Clock, func() (err error) {
		encoded, err = d.Blobs.ReadAll(ctx, uri, maxInputs)
		return err
	})
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, nil, badInput("the inputs of this action are gone: there is no %s", uri)
	case errors.Is(err, blobstore.ErrTooLarge):
		return nil, nil, badInput("the inputs of this action are larger than %d bytes", maxInputs)
	case err != nil:
		return nil, nil, err
	}
	inputs := &task.Inputs{}
	if err := proto.Unmarshal(encoded, inputs); err != nil {
		return nil, nil, badInput("the inputs in %s cannot be decoded: %v", uri, err)
	}
	return encoded, inputs.GetLiterals(), nil
}

// writeDocument writes all inputs in one. The bytes of inputs.pb are a map of literals as well as a list of named ones.
func (d Download) writeDocument(root *os.Root, encoded []byte, values map[string]any) (err error) {
	name := documentName(d.Format)
	body := encoded
	switch d.Format {
	case core.DataLoadingConfig_JSON:
		body, err = json.Marshal(values)
	case core.DataLoadingConfig_YAML:
		body, err = yaml.Marshal(values)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := writeFile(root, unfinished, body); err != nil {
		return fmt.Errorf("%w: write %s: %w", errLocal, name, err)
	}
	if err := root.Rename(unfinished, name); err != nil {
		return fmt.Errorf("%w: write %s: %w", errLocal, name, err)
	}
	return nil
}

// documentName is the name of the document with all inputs, which is part of the contract with containers.
func documentName(format core.DataLoadingConfig_LiteralMapFormat) string {
	switch format {
	case core.DataLoadingConfig_JSON:
		return "inputs.json"
	case core.DataLoadingConfig_YAML:
		return "inputs.yaml"
	default:
		return blobpath.InputsFile
	}
}

// empty removes everything in a directory but not the directory, which is the mount point of a volume.
func empty(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := root.RemoveAll(entry.Name()); err != nil {
			return err
		}
	}
	return nil
}
