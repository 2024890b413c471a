package copilot_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/inpod/copilot"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// pod has the directories of a pod, and an object store.
type pod struct {
	blobs       *copilot.Stores
	root        string // of the object store
	in, out     string
	outsideBlob string // a file outside the store
}

func newPod(t *testing.T) *pod {
	root, err := os.MkdirTemp("", "copilot-") // test names may have characters that URLs may not
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	p := &pod{root: root, in: t.TempDir(), out: t.TempDir(), outsideBlob: filepath.Join(t.TempDir(), "far.txt")}
	p.blobs, err = copilot.OpenStores(t.Context(), blobstore.Config{URL: p.root, Timeout: time.Minute}, func(string) string { return "" })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.blobs.Close()) })
	require.NoError(t, os.WriteFile(p.outsideBlob, []byte("far"), 0o600))
	return p
}

func (p *pod) attempt() string { return p.root + "/run/a0/1" }

// object puts an object into the store and returns its URI.
func (p *pod) object(t *testing.T, name, content string) string {
	t.Helper()
	uri := p.root + "/data/" + name
	require.NoError(t, p.blobs.WriteAll(t.Context(), uri, []byte(content)))
	return uri
}

// inputs writes inputs.pb and returns a download of it.
func (p *pod) inputs(t *testing.T, literals map[string]*core.Literal) copilot.Download {
	t.Helper()
	inputs := &task.Inputs{Context: []*core.KeyValuePair{{Key: "k", Value: "v"}}}
	for name, literal := range literals {
		inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: name, Value: literal})
	}
	body, err := proto.Marshal(inputs)
	require.NoError(t, err)
	require.NoError(t, p.blobs.WriteAll(t.Context(), p.root+"/run/inputs/inputs.pb", body))
	return copilot.Download{Inputs: p.root + "/run/inputs", Dir: p.in, Blobs: p.blobs, Clock: clock.System{}}
}

// tree is every file below a directory with its content, and every empty directory with a slash.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			entries, err := os.ReadDir(path)
			if len(entries) == 0 {
				found[name+"/"] = ""
			}
			return err
		}
		body, err := os.ReadFile(path)
		found[name] = string(body)
		return err
	}))
	return found
}

// leave writes what a container leaves in its output directory.
func (p *pod) leave(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(p.out, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func (p *pod) sidecar(outputs map[string]*core.LiteralType) copilot.Sidecar {
	s := copilot.Sidecar{Dir: p.out, Attempt: p.attempt(), Raw: p.attempt(), Timeout: time.Hour, Blobs: p.blobs, Clock: clock.System{}}
	for name, kind := range outputs {
		s.Outputs = append(s.Outputs, &core.VariableEntry{Key: name, Value: &core.Variable{Type: kind}})
	}
	return s
}

// collected is outputs.pb.
func (p *pod) collected(t *testing.T) map[string]*core.Literal {
	t.Helper()
	body, err := p.blobs.ReadAll(t.Context(), p.attempt()+"/outputs.pb", 0)
	require.NoError(t, err)
	outputs := &task.Outputs{}
	require.NoError(t, proto.Unmarshal(body, outputs))
	result := map[string]*core.Literal{}
	for _, literal := range outputs.GetLiterals() {
		result[literal.GetName()] = literal.GetValue()
	}
	return result
}

func scalar(value *core.Scalar) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: value}}
}

func primitive(value *core.Primitive) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Primitive{Primitive: value}})
}

func integer(n int64) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_Integer{Integer: n}})
}

func float(f float64) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: f}})
}

func text(s string) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: s}})
}

func boolean(b bool) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_Boolean{Boolean: b}})
}

func datetime(t time.Time) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_Datetime{Datetime: timestamppb.New(t)}})
}

func duration(d time.Duration) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_Duration{Duration: durationpb.New(d)}})
}

func blob(uri string, dimensionality core.BlobType_BlobDimensionality) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{
		Uri: uri, Metadata: &core.BlobMetadata{Type: &core.BlobType{Dimensionality: dimensionality}},
	}}})
}

func list(items ...*core.Literal) *core.Literal {
	return &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: items}}}
}

func mapping(items map[string]*core.Literal) *core.Literal {
	return &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: items}}}
}

func simple(kind core.SimpleType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_Simple{Simple: kind}}
}

func listOf(kind *core.LiteralType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: kind}}
}

func mapOf(kind *core.LiteralType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_MapValueType{MapValueType: kind}}
}

func blobType(dimensionality core.BlobType_BlobDimensionality) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_Blob{Blob: &core.BlobType{Dimensionality: dimensionality}}}
}

func optional(kind *core.LiteralType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: &core.UnionType{
		Variants: []*core.LiteralType{kind, simple(core.SimpleType_NONE)},
	}}}
}
