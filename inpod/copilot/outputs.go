package copilot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// maxValue is the largest value inside of outputs.pb, in bytes: a parent reads it into memory. Larger values must be
// files.
const maxValue = 10 << 20

// collector reads the outputs of a container. group uploads files in the background.
type collector struct {
	ctx    context.Context //nolint:containedctx // of one upload
	group  *errgroup.Group
	root   *os.Root
	dir    string // root as the container sees it
	prefix string // where files go, without a trailing slash
	blobs  Blobs
	clock  clock.Clock
}

// collectAll reads every declared output. The error has all problems: an author who forgot three files learns it in one
// run.
func (c *collector) collectAll(declared []*core.VariableEntry) ([]*task.NamedLiteral, error) {
	var problems []error
	result := make([]*task.NamedLiteral, 0, len(declared))
	for _, output := range declared {
		name := output.GetKey()
		if !isName(name) {
			problems = append(problems, malformed("output %q cannot be the name of a file", name))
			continue
		}
		literal, err := c.collect(name, output.GetValue().GetType(), 0)
		if err != nil {
			problems = append(problems, fmt.Errorf("output %q: %w", name, err))
			continue
		}
		result = append(result, &task.NamedLiteral{Name: name, Value: literal})
	}
	return result, errors.Join(problems...)
}

// collect reads a path as a type.
func (c *collector) collect(at string, wanted *core.LiteralType, depth int) (*core.Literal, error) {
	if depth > maxDepth {
		return nil, malformed("the type is nested too deep")
	}
	info, err := c.root.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.absent(at, wanted)
	case err != nil:
		return nil, malformed("%s cannot be read: %v", c.seen(at), reason(err))
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, malformed("%s is neither a file nor a directory", c.seen(at))
	}
	switch kind := wanted.GetType().(type) {
	case *core.LiteralType_Blob:
		return c.collectBlob(at, kind.Blob, info)
	case *core.LiteralType_StructuredDatasetType:
		return c.collectDataset(at, kind.StructuredDatasetType, info)
	case *core.LiteralType_Schema:
		uri, err := c.upload(at, info)
		return ofScalar(&core.Scalar{Value: &core.Scalar_Schema{Schema: &core.Schema{Uri: uri, Type: kind.Schema}}}), err
	case *core.LiteralType_UnionType:
		return c.collectUnion(at, kind.UnionType.GetVariants(), depth)
	case *core.LiteralType_CollectionType:
		if info.IsDir() {
			return c.collectList(at, kind.CollectionType, depth)
		}
	case *core.LiteralType_MapValueType:
		if info.IsDir() {
			return c.collectMap(at, kind.MapValueType, depth)
		}
	}
	if info.IsDir() {
		return nil, malformed("%s is a directory, but the output is declared as %s", c.seen(at), describe(wanted))
	}
	body, err := c.read(at)
	if err != nil {
		return nil, err
	}
	literal, err := literalOf(wanted, body)
	if err != nil {
		return nil, malformed("%s is declared as %s, and %q %v", c.seen(at), describe(wanted), excerpt(body), err)
	}
	return literal, nil
}

// absent is the value of a missing file: None if the type allows it.
func (c *collector) absent(at string, wanted *core.LiteralType) (*core.Literal, error) {
	if none := noneOf(wanted); none != nil {
		return none, nil
	}
	return nil, missing("the container ended without writing %s, which is declared as %s", c.seen(at), describe(wanted))
}

// collectList reads the entries of a directory: in numeric order if all names are numbers, else in the order of the
// names. So 2 comes before 10, as a program that writes one file for each element expects.
func (c *collector) collectList(at string, element *core.LiteralType, depth int) (*core.Literal, error) {
	names, err := c.entries(at)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX == nil && errY == nil && x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	list := &core.LiteralCollection{}
	for _, name := range names {
		literal, err := c.collect(at+"/"+name, element, depth+1)
		if err != nil {
			return nil, err
		}
		list.Literals = append(list.Literals, literal)
	}
	return &core.Literal{Value: &core.Literal_Collection{Collection: list}}, nil
}

// collectMap reads the entries of a directory as a map, each by its name.
func (c *collector) collectMap(at string, value *core.LiteralType, depth int) (*core.Literal, error) {
	names, err := c.entries(at)
	if err != nil {
		return nil, err
	}
	fields := map[string]*core.Literal{}
	for _, name := range names {
		if fields[name], err = c.collect(at+"/"+name, value, depth+1); err != nil {
			return nil, err
		}
	}
	return &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: fields}}}, nil
}

// collectUnion reads the first variant that fits.
func (c *collector) collectUnion(at string, variants []*core.LiteralType, depth int) (*core.Literal, error) {
	var failures []error
	for _, variant := range variants {
		if isNone(variant) {
			continue
		}
		literal, err := c.collect(at, variant, depth+1)
		if err == nil {
			return ofUnion(literal, variant), nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (c *collector) entries(at string) ([]string, error) {
	entries, err := fs.ReadDir(c.root.FS(), at)
	if err != nil {
		return nil, malformed("%s cannot be read: %v", c.seen(at), reason(err))
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// read reads a file as a value of an output.
func (c *collector) read(at string) ([]byte, error) {
	file, err := c.root.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a named pipe since it was looked at
	if err != nil {
		return nil, malformed("%s cannot be read: %v", c.seen(at), reason(err))
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, maxValue+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLocal, err)
	}
	if len(body) > maxValue {
		return nil, malformed("%s is larger than %d bytes; declare large outputs as files", c.seen(at), maxValue)
	}
	return body, nil
}

// seen is a path as the container saw it.
func (c *collector) seen(at string) string { return strings.TrimRight(c.dir, "/") + "/" + at }

// reason is an error without its path, which the message already has.
func reason(err error) error {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// excerpt is the beginning of a value for an error: enough to recognize it, in one line of a log.
func excerpt(body []byte) string {
	const most = 60
	return clip.Ellipsis(strings.TrimSpace(string(body)), most)
}
