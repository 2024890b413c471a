package copilot_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

func TestPrimitivesAreOneFileEach(t *testing.T) {
	p := newPod(t)
	when := time.Date(2024, 2, 29, 12, 30, 15, 123456000, time.UTC)
	require.NoError(t, p.inputs(t, map[string]*core.Literal{
		"i": integer(-(1 << 60)), "f": float(2.5), "s": text("two\nlines"), "b": boolean(true), "when": datetime(when),
		"span": duration(90 * time.Minute), "none": scalar(&core.Scalar{Value: &core.Scalar_NoneType{NoneType: &core.Void{}}}),
	}).Run(t.Context()))
	got := tree(t, p.in)
	document := got["inputs.json"]
	delete(got, "inputs.json")
	require.Equal(t, map[string]string{
		"i": "-1152921504606846976", "f": "2.5", "s": "two\nlines", "b": "true", "when": "2024-02-29T12:30:15.123456Z", "span": "1h30m0s",
	}, got)
	require.JSONEq(t, `{"i":-1152921504606846976,"f":2.5,"s":"two\nlines","b":true,"when":"2024-02-29T12:30:15.123456Z","span":"1h30m0s","none":null}`, document)
	require.Contains(t, document, "-1152921504606846976", "JSON numbers keep all their digits")
}

func TestDocumentsOfAllInputs(t *testing.T) {
	values := map[string]*core.Literal{"n": integer(3), "l": list(text("a"), text("b")), "m": mapping(map[string]*core.Literal{"k": boolean(false)})}
	want := map[string]any{"n": 3.0, "l": []any{"a", "b"}, "m": map[string]any{"k": false}}

	p := newPod(t)
	download := p.inputs(t, values)
	require.NoError(t, download.Run(t.Context()))
	var fromJSON map[string]any
	require.NoError(t, json.Unmarshal([]byte(tree(t, p.in)["inputs.json"]), &fromJSON))
	require.Equal(t, want, fromJSON)

	download.Format = core.DataLoadingConfig_YAML
	require.NoError(t, download.Run(t.Context()))
	var fromYAML map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(tree(t, p.in)["inputs.yaml"]), &fromYAML))
	want["n"] = 3
	require.Equal(t, want, fromYAML)
	require.NotContains(t, tree(t, p.in), "inputs.json", "leftovers of another download are removed")

	download.Format = core.DataLoadingConfig_PROTO
	require.NoError(t, download.Run(t.Context()))
	literals := &core.LiteralMap{}
	require.NoError(t, proto.Unmarshal([]byte(tree(t, p.in)["inputs.pb"]), literals), "inputs.pb is a map of literals as well")
	require.EqualValues(t, 3, literals.Literals["n"].GetScalar().GetPrimitive().GetInteger())
	require.Equal(t, map[string]string{"n": "3", "l/0": "a", "l/1": "b", "m/k": "false"}, without(tree(t, p.in), "inputs.pb"))
}

func without(files map[string]string, name string) map[string]string {
	delete(files, name)
	return files
}

func TestFilesInBothLayouts(t *testing.T) {
	p := newPod(t)
	one, other := p.object(t, "reads.fastq", "ACGT"), p.object(t, "other/reads.fastq", "TTTT")
	third := p.object(t, "notes.txt", "n")
	p.object(t, "dir/a", "1")
	p.object(t, "dir/deep/b", "2")
	inputs := map[string]*core.Literal{
		"file": blob(one, core.BlobType_SINGLE), "files": list(blob(one, core.BlobType_SINGLE), blob(other, core.BlobType_SINGLE), blob(third, core.BlobType_SINGLE)),
		"dir": blob(p.root+"/data/dir", core.BlobType_MULTIPART), "far": blob(p.outsideBlob, core.BlobType_SINGLE),
		"empty": blob(p.root+"/data/nothing", core.BlobType_MULTIPART),
	}
	download := p.inputs(t, inputs)
	require.NoError(t, download.Run(t.Context()))
	var document map[string]any
	got := tree(t, p.in)
	require.NoError(t, json.Unmarshal([]byte(got["inputs.json"]), &document))
	require.Equal(t, map[string]string{
		"file": "ACGT", "files/0": "ACGT", "files/1": "TTTT", "files/2": "n", "dir/a": "1", "dir/deep/b": "2", "far": "far", "empty/": "",
	}, without(got, "inputs.json"))
	require.Equal(t, p.in+"/file", document["file"])
	require.Equal(t, []any{p.in + "/files/0", p.in + "/files/1", p.in + "/files/2"}, document["files"])

	download.Layout = core.DataLoadingConfig_NAMED_DIR
	require.NoError(t, download.Run(t.Context()))
	got = tree(t, p.in)
	require.NoError(t, json.Unmarshal([]byte(got["inputs.json"]), &document))
	require.Equal(t, map[string]string{
		"file/reads.fastq": "ACGT", "files/reads.fastq": "ACGT", "files/1_reads.fastq": "TTTT", "files/notes.txt": "n",
		"dir/a": "1", "dir/deep/b": "2", "far/far.txt": "far", "empty/": "",
	}, without(got, "inputs.json"))
	require.Equal(t, p.in+"/file/reads.fastq", document["file"])
}

func TestAnybodyMayUseTheInputs(t *testing.T) {
	p := newPod(t)
	require.NoError(t, p.inputs(t, map[string]*core.Literal{
		"l": list(integer(1)), "f": blob(p.object(t, "x", "y"), core.BlobType_SINGLE),
	}).Run(t.Context()))
	for name, mode := range map[string]os.FileMode{"l": 0o777, "l/0": 0o666, "f": 0o666, "inputs.json": 0o666} {
		info, err := os.Stat(filepath.Join(p.in, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
}

func TestStructuresAndDatasets(t *testing.T) {
	p := newPod(t)
	packed, err := msgpack.Marshal(map[any]any{"x": 1, 7: []any{true, nil, 1.5}})
	require.NoError(t, err)
	p.object(t, "frame/part-0.parquet", "PAR1")
	file := p.object(t, "single.parquet", "PAR1")
	offloaded, err := proto.Marshal(list(integer(1), integer(2)))
	require.NoError(t, err)
	require.NoError(t, p.inputs(t, map[string]*core.Literal{
		"struct": scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Tag: "msgpack", Value: packed}}}),
		"bytes":  scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: []byte{0, 255}}}}),
		"frame":  scalar(&core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{Uri: p.root + "/data/frame"}}}),
		"one":    scalar(&core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{Uri: file}}}),
		"union":  scalar(&core.Scalar{Value: &core.Scalar_Union{Union: &core.Union{Value: text("inner")}}}),
		"large": {Value: &core.Literal_OffloadedMetadata{OffloadedMetadata: &core.LiteralOffloadedMetadata{
			Uri: p.object(t, "offloaded.pb", string(offloaded)),
		}}},
	}).Run(t.Context()))
	got := tree(t, p.in)
	require.JSONEq(t, `{"x":1,"7":[true,null,1.5]}`, got["struct"])
	require.Equal(t, "\x00\xff", got["bytes"])
	require.Equal(t, "PAR1", got["frame/part-0.parquet"])
	require.Equal(t, "PAR1", got["one"])
	require.Equal(t, "inner", got["union"])
	require.Equal(t, "2", got["large/1"])
	var document map[string]any
	require.NoError(t, json.Unmarshal([]byte(got["inputs.json"]), &document))
	require.Equal(t, map[string]any{"x": 1.0, "7": []any{true, nil, 1.5}}, document["struct"])
}

func TestNoNameLeadsOutOfTheDirectory(t *testing.T) {
	deep := integer(1)
	for range 200 {
		deep = list(deep)
	}
	for name, literals := range map[string]map[string]*core.Literal{
		"up":        {"..": integer(1)},
		"slash":     {"../x": integer(1)},
		"absolute":  {"/etc/x": integer(1)},
		"empty":     {"": integer(1)},
		"reserved":  {"inputs.json": integer(1)},
		"key":       {"m": mapping(map[string]*core.Literal{"../../x": integer(1)})},
		"depth":     {"l": deep},
		"structure": {"s": scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Tag: "msgpack", Value: []byte{0xdd, 0xff, 0xff, 0xff, 0xff}}}})},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			err := p.inputs(t, literals).Run(t.Context())
			require.Error(t, err)
			requireUser(t, p, err, "InputUnavailable", false)
			require.NotContains(t, tree(t, p.in), "inputs.json", "nothing is complete")
		})
	}
}

func TestInputsThatAreGone(t *testing.T) {
	p := newPod(t)
	download := p.inputs(t, map[string]*core.Literal{"f": blob(p.root+"/data/gone", core.BlobType_SINGLE)})
	err := download.Run(t.Context())
	require.ErrorContains(t, err, `input "f"`)
	require.ErrorContains(t, err, "/data/gone")
	requireUser(t, p, err, "InputUnavailable", false)
	require.NotContains(t, tree(t, p.in), "inputs.json")

	download.Inputs = p.root + "/elsewhere"
	requireUser(t, p, download.Run(t.Context()), "InputUnavailable", false)
}

func TestDownloadAgainAfterItWasInterrupted(t *testing.T) {
	p := newPod(t)
	require.NoError(t, os.MkdirAll(filepath.Join(p.in, "n", "was", "a", "directory"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.in, ".inputs.unfinished"), []byte("{"), 0o600))
	require.NoError(t, p.inputs(t, map[string]*core.Literal{"n": integer(1)}).Run(t.Context()))
	require.Equal(t, map[string]string{"n": "1", "inputs.json": `{"n":1}`}, tree(t, p.in))
}
