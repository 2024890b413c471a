package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
)

// EtcdInUse compacts all past revisions, as the API server does with those older than five minutes, and returns the bytes
// in use: live objects and the API server's own data. The file itself does not shrink.
func (s *Stack) EtcdInUse(ctx context.Context) (int64, error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.Dir, "c.sock"))
		},
	}}
	var status struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
		InUse string `json:"dbSizeInUse"`
	}
	if err := askEtcd(ctx, client, "maintenance/status", struct{}{}, &status); err != nil {
		return 0, err
	}
	compaction := map[string]any{"revision": status.Header.Revision, "physical": true}
	if err := askEtcd(ctx, client, "kv/compaction", compaction, &struct{}{}); err != nil {
		return 0, err
	}
	if err := askEtcd(ctx, client, "maintenance/status", struct{}{}, &status); err != nil {
		return 0, err
	}
	return strconv.ParseInt(status.InUse, 10, 64)
}

// askEtcd calls etcd's JSON gateway.
func askEtcd(ctx context.Context, client *http.Client, what string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd %s: %s", what, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
