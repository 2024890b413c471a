// Package s3test runs a real S3 server that checks signatures, for tests.
package s3test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// The credentials of the server.
const (
	accessKey = "flyte"
	secretKey = "flyteflyte"
)

// Server is an S3 server that keeps objects as files.
type Server struct {
	// URL is its endpoint.
	URL string
	// Dir has a directory for each bucket, in which an object is a file.
	Dir string
}

// Start starts a server with buckets, which ends with the test. The test is skipped where the server is not installed.
func Start(t testing.TB, buckets ...string) *Server {
	t.Helper()
	s := &Server{Dir: t.TempDir()}
	for _, bucket := range buckets {
		require.NoError(t, os.Mkdir(filepath.Join(s.Dir, bucket), 0o700))
	}
	program := find(t)
	for range 5 { // the port may be taken between choosing and using it
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		require.NoError(t, listener.Close())
		if run(t, program, address, s.Dir) {
			s.URL = "http://" + address
			return s
		}
	}
	t.Fatal("the S3 server did not start")
	return nil
}

// Config is the configuration of a store at a URL, such as s3://bucket/some/prefix.
func (s *Server) Config(url string) blobstore.Config {
	config := blobstore.DefaultConfig()
	config.URL = url
	config.S3.Endpoint, config.S3.AccessKeyID, config.S3.SecretAccessKey = s.URL, accessKey, secretKey
	return config
}

// find is the program. A test runs in the folder of its package.
func find(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		program := filepath.Join(dir, ".bin", "versitygw")
		if _, err := os.Stat(program); err == nil {
			return program
		}
		if filepath.Dir(dir) == dir {
			t.Skip("no S3 server to test against: there is no .bin/versitygw; `make s3-server` installs it")
		}
		dir = filepath.Dir(dir)
	}
}

// run starts the program, and reports whether it serves.
func run(t testing.TB, program, address, dir string) bool {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "--port", address, "--quiet", "posix", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	ready := func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}
	for !ready() {
		select {
		case <-ended:
			t.Log(output.String())
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}

// Put stores objects of two bytes in a directory of a bucket, without requests.
func (s *Server) Put(t testing.TB, bucket, dir string, objects int) {
	t.Helper()
	for i := range objects {
		at := filepath.Join(s.Dir, bucket, dir, fmt.Sprint(i))
		require.NoError(t, os.MkdirAll(at, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(at, "x"), []byte("12"), 0o600))
	}
}
