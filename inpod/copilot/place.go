package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The modes let any user read and write: the container may run as any user, and the directory belongs to the pod alone.
const (
	fileMode = 0o666
	dirMode  = 0o777
)

// placer writes values into files. group downloads large ones in the background.
type placer struct {
	ctx      context.Context //nolint:containedctx // of one download
	group    *errgroup.Group
	root     *os.Root
	dir      string // root as the container sees it
	document string // the name that inputs must not have
	named    bool   // files keep their names, in a directory for each input
	blobs    Blobs
	clock    clock.Clock
}

// placeAll places every input, and returns the inputs for the JSON and YAML document: files by their paths.
func (p *placer) placeAll(inputs []*task.NamedLiteral) (map[string]any, error) {
	values := map[string]any{}
	for _, input := range inputs {
		name := input.GetName()
		if !isName(name) || name == p.document || name == unfinished {
			return nil, badInput("input %q cannot be the name of a file", name)
		}
		if _, twice := values[name]; twice {
			return nil, badInput("input %q is given twice", name)
		}
		value, err := p.place(name, input.GetValue(), 0)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", name, err)
		}
		values[name] = value
	}
	return values, nil
}

// place writes a value to a path and returns its JSON form.
func (p *placer) place(at string, literal *core.Literal, depth int) (any, error) {
	if depth > maxDepth {
		return nil, badInput("the value is nested too deep")
	}
	switch value := literal.GetValue().(type) {
	case *core.Literal_Scalar:
		return p.placeScalar(at, value.Scalar, depth)
	case *core.Literal_Collection:
		return p.placeList(at, value.Collection.GetLiterals(), depth)
	case *core.Literal_Map:
		return p.placeMap(at, value.Map.GetLiterals(), depth)
	case *core.Literal_OffloadedMetadata:
		return p.placeOffloaded(at, value.OffloadedMetadata.GetUri(), depth)
	}
	return nil, nil //nolint:nilnil // nothing is None
}

// placeScalar writes one value. Text and numbers become a file with the bare value, structures a file with JSON, files
// and directories themselves. For these, the JSON document has their path.
func (p *placer) placeScalar(at string, scalar *core.Scalar, depth int) (any, error) {
	switch value := scalar.GetValue().(type) {
	case *core.Scalar_Primitive:
		return nativeOf(value.Primitive), p.write(at, []byte(textOf(value.Primitive)))
	case *core.Scalar_Blob:
		uri := value.Blob.GetUri()
		if value.Blob.GetMetadata().GetType().GetDimensionality() == core.BlobType_MULTIPART {
			return p.seen(at), p.fetchTree(at, uri)
		}
		if !p.named {
			return p.seen(at), p.fetch(at, uri)
		}
		at = path.Join(at, baseName(uri, "0"))
		return p.seen(at), p.fetch(at, uri)
	case *core.Scalar_Schema:
		return p.seen(at), p.fetchTree(at, value.Schema.GetUri())
	case *core.Scalar_StructuredDataset:
		return p.seen(at), p.fetchTree(at, value.StructuredDataset.GetUri())
	case *core.Scalar_Binary:
		if value.Binary.GetTag() != packedTag {
			return p.seen(at), p.write(at, value.Binary.GetValue())
		}
		structure, err := unpack(value.Binary.GetValue())
		if err != nil {
			return nil, badInput("the structure cannot be decoded: %v", err)
		}
		return structure, p.writeJSON(at, structure)
	case *core.Scalar_Generic:
		return value.Generic.AsMap(), p.writeJSON(at, value.Generic.AsMap())
	case *core.Scalar_Union:
		return p.place(at, value.Union.GetValue(), depth+1)
	case *core.Scalar_Error:
		return value.Error.GetMessage(), p.write(at, []byte(value.Error.GetMessage()))
	}
	return nil, nil //nolint:nilnil // None: there is no file
}

// placeList creates a directory with an entry for each element: its number, or the name of the file that it is.
func (p *placer) placeList(at string, items []*core.Literal, depth int) (any, error) {
	if err := p.mkdir(at); err != nil {
		return nil, err
	}
	values, used := make([]any, len(items)), map[string]bool{}
	for i, item := range items {
		var err error
		if uri, single := fileOf(item); single && p.named {
			name := unique(baseName(uri, strconv.Itoa(i)), used)
			values[i], err = p.seen(path.Join(at, name)), p.fetch(path.Join(at, name), uri)
		} else {
			values[i], err = p.place(path.Join(at, strconv.Itoa(i)), item, depth+1)
		}
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return values, nil
}

// placeMap creates a directory with an entry for each key.
func (p *placer) placeMap(at string, items map[string]*core.Literal, depth int) (any, error) {
	if err := p.mkdir(at); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for key, item := range items {
		if !isName(key) {
			return nil, badInput("key %q cannot be the name of a file", key)
		}
		value, err := p.place(path.Join(at, key), item, depth+1)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		values[key] = value
	}
	return values, nil
}

// placeOffloaded places a value that is stored as an object of its own because of its size.
func (p *placer) placeOffloaded(at, uri string, depth int) (any, error) {
	var body []byte
	err := again(p.ctx, p.clock, func() error {
		reader, err := p.blobs.NewReader(p.ctx, uri)
		if err != nil {
			return err
		}
		defer reader.Close()
		body, err = io.ReadAll(io.LimitReader(reader, maxInputs))
		return err
	})
	if err != nil {
		return nil, unavailable(uri, err)
	}
	literal := &core.Literal{}
	if err := proto.Unmarshal(body, literal); err != nil {
		return nil, badInput("the value in %s cannot be decoded: %v", uri, err)
	}
	return p.place(at, literal, depth+1)
}

// seen is a path as the container sees it.
func (p *placer) seen(at string) string { return filepath.Join(p.dir, filepath.FromSlash(at)) }

func (p *placer) writeJSON(at string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return badInput("the structure is not JSON: %v", err)
	}
	return p.write(at, body)
}

// fileOf is the URI of a literal that is one file.
func fileOf(literal *core.Literal) (string, bool) {
	scalar := literal.GetScalar()
	if inner := scalar.GetUnion(); inner != nil {
		return fileOf(inner.GetValue())
	}
	single := scalar.GetBlob() != nil && scalar.GetBlob().GetMetadata().GetType().GetDimensionality() == core.BlobType_SINGLE
	return scalar.GetBlob().GetUri(), single
}

// baseName is the last part of a URI, or a default if that cannot be the name of a file.
func baseName(uri, otherwise string) string {
	if name := path.Base(strings.TrimRight(uri, "/")); isName(name) {
		return name
	}
	return otherwise
}

// unique puts a number before a name that is taken.
func unique(name string, used map[string]bool) string {
	result := name
	for n := 1; used[result]; n++ {
		result = strconv.Itoa(n) + "_" + name
	}
	used[result] = true
	return result
}

// unavailable names the object that cannot be read.
func unavailable(uri string, err error) error {
	if errors.Is(err, blobstore.ErrNotExist) {
		return badInput("there is no %s", uri)
	}
	return fmt.Errorf("read %s: %w", uri, err)
}
