package copilot_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/inpod/copilot"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// requireUser reports an error and checks what the executor reads.
func requireUser(t *testing.T, p *pod, failure error, code string, recoverable bool) *core.ContainerError {
	t.Helper()
	reported := report(t, p, failure)
	require.Equal(t, code, reported.Code)
	require.Equal(t, core.ExecutionError_USER, reported.Origin)
	require.Equal(t, recoverable, reported.Kind == core.ContainerError_RECOVERABLE)
	return reported
}

func report(t *testing.T, p *pod, failure error) *core.ContainerError {
	t.Helper()
	require.Error(t, failure)
	require.NoError(t, copilot.Report(t.Context(), p.blobs, clock.System{}, p.attempt(), failure))
	body, err := p.blobs.ReadAll(t.Context(), p.attempt()+"/error.pb", 0)
	require.NoError(t, err)
	document := &core.ErrorDocument{}
	require.NoError(t, proto.Unmarshal(body, document))
	return document.GetError()
}

func TestOutputsOfEveryType(t *testing.T) {
	when := time.Date(2024, 2, 29, 12, 30, 15, 0, time.UTC)
	for name, tc := range map[string]struct {
		kind *core.LiteralType
		text string
		want *core.Literal
	}{
		"integer":          {simple(core.SimpleType_INTEGER), "42\n", integer(42)},
		"float":            {simple(core.SimpleType_FLOAT), " 2.5e3 ", float(2500)},
		"string":           {simple(core.SimpleType_STRING), "as it is\n", text("as it is\n")},
		"empty string":     {simple(core.SimpleType_STRING), "", text("")},
		"true":             {simple(core.SimpleType_BOOLEAN), "True\n", boolean(true)},
		"false":            {simple(core.SimpleType_BOOLEAN), "0", boolean(false)},
		"datetime":         {simple(core.SimpleType_DATETIME), "2024-02-29T14:30:15+02:00\n", datetime(when)},
		"datetime of date": {simple(core.SimpleType_DATETIME), "2024-02-29T12:30:15+0000", datetime(when)},
		"datetime, naive":  {simple(core.SimpleType_DATETIME), "2024-02-29 12:30:15", datetime(when)},
		"duration":         {simple(core.SimpleType_DURATION), "1h30m\n", duration(90 * time.Minute)},
		"seconds":          {simple(core.SimpleType_DURATION), "1.5", duration(1500 * time.Millisecond)},
		"Python's":         {simple(core.SimpleType_DURATION), "1 day, 2:03:04.5", duration(26*time.Hour + 3*time.Minute + 4500*time.Millisecond)},
		"Python's, less":   {simple(core.SimpleType_DURATION), "-1 day, 23:00:00", duration(-time.Hour)},
		"list":             {listOf(simple(core.SimpleType_INTEGER)), "[1, 2]", list(integer(1), integer(2))},
		"list of lists":    {listOf(listOf(simple(core.SimpleType_STRING))), `[["a"], []]`, list(list(text("a")), list())},
		"map":              {mapOf(simple(core.SimpleType_FLOAT)), `{"a": 1, "b": 2.5}`, mapping(map[string]*core.Literal{"a": float(1), "b": float(2.5)})},
		"enum":             {&core.LiteralType{Type: &core.LiteralType_EnumType{EnumType: &core.EnumType{Values: []string{"RED", "BLUE"}}}}, "BLUE\n", text("BLUE")},
		"bytes":            {simple(core.SimpleType_BINARY), "\x00\xff", scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: []byte("\x00\xff")}}})},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.leave(t, "o", tc.text)
			require.NoError(t, p.sidecar(map[string]*core.LiteralType{"o": tc.kind}).Collect(t.Context()))
			require.True(t, proto.Equal(tc.want, p.collected(t)["o"]), "%v", p.collected(t)["o"])
		})
	}
}

func TestStructuresAsClientsPackThem(t *testing.T) {
	p := newPod(t)
	p.leave(t, "o", `{"x": 1, "y": 1.0, "big": 18446744073709551615, "tags": ["a", null]}`)
	require.NoError(t, p.sidecar(map[string]*core.LiteralType{"o": simple(core.SimpleType_STRUCT)}).Collect(t.Context()))
	binary := p.collected(t)["o"].GetScalar().GetBinary()
	require.Equal(t, "msgpack", binary.Tag)
	var got map[string]any
	require.NoError(t, msgpack.Unmarshal(binary.Value, &got))
	require.EqualValues(t, 1, got["x"])
	require.IsType(t, float64(0), got["y"])
	require.Equal(t, uint64(18446744073709551615), got["big"])
	require.Equal(t, []any{"a", nil}, got["tags"])
}

func TestFilesAndDirectoriesAreUploaded(t *testing.T) {
	p := newPod(t)
	p.leave(t, "file", "content")
	p.leave(t, "dir/a", "1")
	p.leave(t, "dir/deep/b", "2")
	p.leave(t, "files/10", "third")
	p.leave(t, "files/2", "second")
	p.leave(t, "files/1", "first")
	p.leave(t, "named/b.txt", "b")
	p.leave(t, "named/a.txt", "a")
	p.leave(t, "frame", "PAR1")
	require.NoError(t, os.Symlink("file", filepath.Join(p.out, "link")))
	dataset := &core.LiteralType{Type: &core.LiteralType_StructuredDatasetType{StructuredDatasetType: &core.StructuredDatasetType{Format: "parquet"}}}
	file, dir := blobType(core.BlobType_SINGLE), blobType(core.BlobType_MULTIPART)
	require.NoError(t, p.sidecar(map[string]*core.LiteralType{
		"file": file, "link": file, "dir": dir, "files": listOf(file), "named": mapOf(file), "frame": dataset,
	}).Collect(t.Context()))
	got := p.collected(t)
	content := func(uri string) string {
		body, err := p.blobs.ReadAll(t.Context(), uri, 0)
		require.NoError(t, err)
		return string(body)
	}
	require.Equal(t, "content", content(got["file"].GetScalar().GetBlob().GetUri()))
	require.Equal(t, "content", content(got["link"].GetScalar().GetBlob().GetUri()))
	require.True(t, strings.HasPrefix(got["file"].GetScalar().GetBlob().GetUri(), p.attempt()+"/_files/"))
	at := got["dir"].GetScalar().GetBlob()
	require.Equal(t, core.BlobType_MULTIPART, at.GetMetadata().GetType().GetDimensionality())
	require.Equal(t, "1", content(at.Uri+"/a"))
	require.Equal(t, "2", content(at.Uri+"/deep/b"))
	var order []string
	for _, element := range got["files"].GetCollection().GetLiterals() {
		order = append(order, content(element.GetScalar().GetBlob().GetUri()))
	}
	require.Equal(t, []string{"first", "second", "third"}, order)
	require.Equal(t, "a", content(got["named"].GetMap().GetLiterals()["a.txt"].GetScalar().GetBlob().GetUri()))
	frame := got["frame"].GetScalar().GetStructuredDataset()
	require.Equal(t, "parquet", frame.GetMetadata().GetStructuredDatasetType().GetFormat())
	require.Equal(t, "PAR1", content(frame.Uri))
}

func TestOptionalOutputs(t *testing.T) {
	p := newPod(t)
	p.leave(t, "there", "3")
	kind := optional(simple(core.SimpleType_INTEGER))
	require.NoError(t, p.sidecar(map[string]*core.LiteralType{"there": kind, "absent": kind}).Collect(t.Context()))
	got := p.collected(t)
	require.EqualValues(t, 3, got["there"].GetScalar().GetUnion().GetValue().GetScalar().GetPrimitive().GetInteger())
	require.NotNil(t, got["absent"].GetScalar().GetUnion().GetValue().GetScalar().GetNoneType())
}

func TestWrongOutputsAreUserErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		kind  *core.LiteralType
		make  func(t *testing.T, p *pod)
		code  string
		words string
	}{
		"missing":            {simple(core.SimpleType_INTEGER), func(*testing.T, *pod) {}, "OutputMissing", "without writing"},
		"malformed":          {simple(core.SimpleType_INTEGER), leaves("o", "forty-two"), "OutputMalformed", `"forty-two" is not an integer`},
		"too large a number": {simple(core.SimpleType_INTEGER), leaves("o", "9223372036854775808"), "OutputMalformed", "64 bits"},
		"not text":           {simple(core.SimpleType_STRING), leaves("o", "\xff\xfe"), "OutputMalformed", "UTF-8"},
		"not JSON":           {listOf(simple(core.SimpleType_INTEGER)), leaves("o", "[1"), "OutputMalformed", "not JSON"},
		"two values":         {simple(core.SimpleType_STRUCT), leaves("o", "{} {}"), "OutputMalformed", "more than one"},
		"wrong element":      {listOf(simple(core.SimpleType_INTEGER)), leaves("o", `[1, "2"]`), "OutputMalformed", "[1]"},
		"too large":          {simple(core.SimpleType_STRING), leaves("o", strings.Repeat("x", 11<<20)), "OutputMalformed", "declare large outputs as files"},
		"directory":          {simple(core.SimpleType_INTEGER), leaves("o/x", "1"), "OutputMalformed", "is a directory"},
		"directory for file": {blobType(core.BlobType_SINGLE), leaves("o/x", "1"), "OutputMalformed", "declared as file"},
		"file for directory": {blobType(core.BlobType_MULTIPART), leaves("o", "1"), "OutputMalformed", "declared as directory"},
		"enum":               {&core.LiteralType{Type: &core.LiteralType_EnumType{EnumType: &core.EnumType{Values: []string{"RED"}}}}, leaves("o", "GREEN"), "OutputMalformed", "RED"},
		"duration":           {simple(core.SimpleType_DURATION), leaves("o", "soon"), "OutputMalformed", "not a duration"},
		"pipe": {simple(core.SimpleType_STRING), func(t *testing.T, p *pod) {
			require.NoError(t, syscall.Mkfifo(filepath.Join(p.out, "o"), 0o600))
		}, "OutputMalformed", "neither a file"},
		"link to the outside": {blobType(core.BlobType_SINGLE), func(t *testing.T, p *pod) {
			require.NoError(t, os.Symlink(p.outsideBlob, filepath.Join(p.out, "o")))
		}, "OutputMalformed", "cannot be read"},
		"link in a directory to the outside": {blobType(core.BlobType_MULTIPART), func(t *testing.T, p *pod) {
			require.NoError(t, os.Mkdir(filepath.Join(p.out, "o"), 0o755))
			require.NoError(t, os.Symlink(p.outsideBlob, filepath.Join(p.out, "o", "x")))
		}, "OutputMalformed", "not a file, or a link"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			tc.make(t, p)
			err := p.sidecar(map[string]*core.LiteralType{"o": tc.kind}).Collect(t.Context())
			reported := requireUser(t, p, err, tc.code, true)
			require.Contains(t, reported.Message, `output "o"`)
			require.Contains(t, reported.Message, tc.words)
			_, err = p.blobs.ReadAll(t.Context(), p.attempt()+"/outputs.pb", 0)
			require.ErrorIs(t, err, blobstore.ErrNotExist, "no partial outputs")
		})
	}
}

func leaves(name, content string) func(*testing.T, *pod) {
	return func(t *testing.T, p *pod) { p.leave(t, name, content) }
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	p := newPod(t)
	p.leave(t, "b", "x")
	err := p.sidecar(map[string]*core.LiteralType{"a": simple(core.SimpleType_INTEGER), "b": simple(core.SimpleType_INTEGER)}).Collect(t.Context())
	require.ErrorContains(t, err, `output "a"`)
	require.ErrorContains(t, err, `output "b"`)
}

// shaky is a store that fails a few times, or blocks.
type shaky struct {
	copilot.Blobs
	failures atomic.Int64
	blocks   bool
}

func (s *shaky) NewWriter(ctx context.Context, uri string) (io.WriteCloser, error) {
	if s.blocks {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.failures.Add(-1) >= 0 {
		return nil, errors.New("the store is unavailable")
	}
	return s.Blobs.NewWriter(ctx, uri)
}

func TestStoreErrorsAreRetried(t *testing.T) {
	p := newPod(t)
	p.leave(t, "o", "content")
	clk := clock.NewFake(time.Unix(0, 0))
	store := &shaky{Blobs: p.blobs}
	store.failures.Store(3)
	s := p.sidecar(map[string]*core.LiteralType{"o": blobType(core.BlobType_SINGLE)})
	s.Blobs, s.Clock, s.Timeout = store, clk, 100_000*time.Hour // the loop below is fast
	done := make(chan error)
	go func() { done <- s.Collect(t.Context()) }()
	for {
		select {
		case err := <-done:
			require.NoError(t, err)
			require.NotEmpty(t, p.collected(t))
			return
		default:
			clk.Step(time.Second)
		}
	}
}

func TestSlowTransferIsASystemError(t *testing.T) {
	p := newPod(t)
	p.leave(t, "o", "content")
	clk := clock.NewFake(time.Unix(0, 0))
	s := p.sidecar(map[string]*core.LiteralType{"o": blobType(core.BlobType_SINGLE)})
	s.Blobs, s.Clock = &shaky{Blobs: p.blobs, blocks: true}, clk
	done := make(chan error)
	go func() { done <- s.Collect(t.Context()) }()
	for {
		select {
		case err := <-done:
			reported := report(t, p, err)
			require.Equal(t, core.ExecutionError_SYSTEM, reported.Origin)
			require.Equal(t, core.ContainerError_RECOVERABLE, reported.Kind)
			require.Contains(t, reported.Message, "1h0m0s")
			return
		default:
			clk.Step(time.Minute)
		}
	}
}

func TestCollectAgainAfterItWasInterrupted(t *testing.T) {
	p := newPod(t)
	p.leave(t, "o", "content")
	s := p.sidecar(map[string]*core.LiteralType{"o": blobType(core.BlobType_SINGLE)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, s.Collect(ctx))
	_, err := p.blobs.ReadAll(t.Context(), p.attempt()+"/outputs.pb", 0)
	require.ErrorIs(t, err, blobstore.ErrNotExist)
	require.NoError(t, s.Collect(t.Context()))
	first := p.collected(t)
	require.NoError(t, s.Collect(t.Context()))
	require.True(t, proto.Equal(first["o"], p.collected(t)["o"]))
}

func TestStage(t *testing.T) {
	stage := copilot.Stage(t.TempDir())
	clk := clock.System{}
	require.ErrorContains(t, stage.Await(t.Context(), clk, copilot.MarkListening, 30*time.Millisecond), "not listening")
	done := make(chan error)
	go func() { done <- stage.Await(t.Context(), clk, copilot.MarkListening, time.Minute) }()
	require.NoError(t, stage.Set(copilot.MarkListening))
	require.NoError(t, <-done)
	there, err := stage.Has(copilot.MarkStarted)
	require.NoError(t, err)
	require.False(t, there)
}
