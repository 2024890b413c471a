// Package inputpreview reads the beginning of the inputs of actions as short texts, so that people can tell siblings
// apart.
package inputpreview

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/recent"
)

const (
	maxRead      = 64 << 10 // bytes of the inputs of one action that are read
	maxInputs    = 32       // inputs of one action that are listed
	maxCharacter = 64       // characters of a name or a value
	maxCached    = 16 << 20 // bytes of previews that are kept
)

// Objects opens objects; blobstore.Store does.
type Objects interface {
	NewReader(ctx context.Context, uri string) (io.ReadCloser, error)
}

// Preview is what is known of the inputs of an action. It may be shared, so it must not change.
type Preview struct {
	Inputs    []*insightv1.InputText
	Truncated bool // there is more than is listed
	Missing   bool // there is no such file
}

// Reader reads previews. It keeps those that were read last, because inputs do not change. It is safe for concurrent
// use.
type Reader struct {
	objects Objects
	known   *recent.Cache[int64, Preview] // by action
}

// NewReader returns a reader without a known preview.
func NewReader(objects Objects) *Reader {
	return &Reader{objects: objects, known: recent.New[int64](maxCached, sizeOf)}
}

// sizeOf is about what a preview takes in memory, in bytes.
func sizeOf(p Preview) int {
	size := 64
	for _, input := range p.Inputs {
		size += 96 + len(input.GetName()) + len(input.GetValue())
	}
	return size
}

// Read reads the preview of an action, whose id it must be, from the file of its inputs. A file that is missing or
// damaged is not an error; a store that does not answer is an Unavailable error.
func (r *Reader) Read(ctx context.Context, action int64, uri string) (Preview, error) {
	if uri == "" {
		return Preview{}, nil
	}
	if known, ok := r.known.Get(action); ok {
		return known, nil
	}
	body, whole, err := r.head(ctx, uri)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrForbiddenPath):
		return Preview{Missing: true}, nil // not kept: it may still come
	case err != nil:
		return Preview{}, rpc.Unavailable(err, "%s cannot be read from the object store", uri)
	}
	preview := previewOf(body)
	preview.Truncated = preview.Truncated || !whole
	r.known.Put(action, preview)
	return preview, nil
}

// head reads the beginning of an object, and says whether it is the whole.
func (r *Reader) head(ctx context.Context, uri string) (body []byte, whole bool, err error) {
	reader, err := r.objects.NewReader(ctx, uri)
	if err != nil {
		return nil, false, err
	}
	defer reader.Close()
	body, err = io.ReadAll(io.LimitReader(reader, maxRead+1))
	if err != nil {
		return nil, false, err
	}
	if len(body) > maxRead {
		return body[:maxRead], false, nil
	}
	return body, true, nil
}

// previewOf reads task.Inputs, or the beginning of it: up to the first input that is cut or damaged.
func previewOf(body []byte) Preview {
	var out list
	for len(body) > 0 && !out.full() {
		field, kind, tag := protowire.ConsumeTag(body)
		if tag < 0 {
			return out.cut()
		}
		size := protowire.ConsumeFieldValue(field, kind, body[tag:])
		if size < 0 {
			return out.cut()
		}
		if field == literals && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(body[tag:])
			var one task.NamedLiteral
			if proto.Unmarshal(value, &one) != nil {
				return out.cut()
			}
			out.add(&one)
		}
		body = body[tag+size:]
	}
	return Preview{Inputs: out.inputs, Truncated: out.more || out.full() && len(body) > 0}
}

// literals is the number of the field of task.Inputs that has the inputs.
const literals = protowire.Number(1)

// list collects inputs up to the limit.
type list struct {
	inputs []*insightv1.InputText
	more   bool // something was left out
}

func (l *list) full() bool { return len(l.inputs) >= maxInputs }

// cut is the list so far, of which it says that there is more.
func (l *list) cut() Preview { return Preview{Inputs: l.inputs, Truncated: true} }

func (l *list) put(name, value string, kind insightv1.InputKind) {
	if l.full() {
		l.more = true
		return
	}
	l.inputs = append(l.inputs, &insightv1.InputText{Name: oneLine(name), Value: oneLine(value), Kind: kind})
}
