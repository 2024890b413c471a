package manager

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager/port"
	"github.com/flyte-binary/flyte-binary/runs/webhook"
)

func TestPlainRoutesTakeCompressedBodies(t *testing.T) {
	mux, err := rpc.NewGuardedMux(rpc.Chain{})
	require.NoError(t, err)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(w, r.Body)
		require.NoError(t, err)
	})
	mux.Handle(webhook.Path, echo)
	mux.Handle("/flyteidl2.task.TaskService/", echo)
	handler := port.Routes{API: mux, Files: echo, Console: echo, Ready: echo, Metrics: echo, Level: echo}.Mount()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = io.WriteString(w, "plain")
	require.NoError(t, err)
	require.NoError(t, w.Close())

	send := func(path, body string) (int, string) {
		request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Content-Encoding", "gzip")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		return recorder.Code, recorder.Body.String()
	}
	_, got := send(webhook.Path+"x", packed.String())
	require.Equal(t, "plain", got)
	for _, path := range []string{"/flyteidl2.task.TaskService/Call", "/blobs/x"} {
		_, got = send(path, packed.String())
		require.Equal(t, packed.String(), got, "%s does its own unpacking", path)
	}
	code, _ := send(webhook.Path+"x", "not gzip")
	require.Equal(t, http.StatusBadRequest, code)
}
