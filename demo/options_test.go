package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// TestAllWrongValuesAreReportedAtOnce: what is wrong in the file and in the flags is one list, each with its place.
func TestAllWrongValuesAreReportedAtOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "demo.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`demo:
  dataDir: /data
  ephemeral: true
  listen: "8088"
  images:
    "training:*": /nowhere
  cpus: -6
  gpus: /nowhere.json
  warm: maybe
  with: [ray, spark, ray]
  environments: -50
  environment: 3
  set: {a: b}
`), 0o600))
	read := func() *given {
		read, err := readFile(file)
		require.NoError(t, err)
		return &read
	}
	given := read()
	_, err := given.complete()
	require.EqualError(t, err, `11 problems:
  `+file+`:3: demo.ephemeral: this and dataDir (--data-dir) exclude each other: one deletes the data, the other keeps it
  `+file+`:4: demo.listen: want host:port such as 127.0.0.1:8088, got "8088"
  `+file+`:6: demo.images.training:*: /nowhere is not a directory
  `+file+`:7: demo.cpus: must not be negative, got -6
  `+file+`:8: demo.gpus: read the list of GPUs: open /nowhere.json: no such file or directory
  `+file+`:9: demo.warm: want on or off, got "maybe"
  `+file+`:10: demo.with[1]: want one of dask, jobset, pytorch, ray, got "spark"
  `+file+`:10: demo.with[2]: "ray" is listed twice
  `+file+`:11: demo.environments: must not be negative, got -50
  `+file+`:12: demo.environment: unknown key; did you mean demo.environments?
  `+file+`:13: demo.set: must be a list, such as [text]`)

	given = read()
	given.Listen = ":::"
	given.flagged("--listen", "listen")
	given.sample = filepath.Join(dir, "nothing.py")
	given.flagged("--sample", "sample")
	given.addImages([]string{"x=/nowhere", "y"})
	_, err = given.complete()
	var problems layers.Problems
	require.ErrorAs(t, err, &problems)
	var flags []string
	for _, problem := range problems {
		if problem.Origin.Flag != "" {
			flags = append(flags, problem.String())
		}
	}
	require.Equal(t, []string{
		"--image y: want name=directory",
		`--listen: want host:port such as 127.0.0.1:8088, got ":::"`,
		"--image x: /nowhere is not a directory",
		"--sample: stat " + given.sample + ": no such file or directory",
	}, flags)
}
