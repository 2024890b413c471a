package webhook

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
)

// newClient returns the client for all calls.
func newClient(config Config) (*http.Client, error) {
	return outbound.NewClient(outbound.Config{
		Allow: config.Allow, Proxy: config.Proxy, Timeout: config.Timeout, Setting: "runs.webhooks.allow",
	})
}

// post sends the call. Any status but 2xx is an error.
func post(ctx context.Context, client *http.Client, target string, id int64, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return errors.New("its URL cannot be read")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(outbound.HeaderKey, "condition-"+strconv.FormatInt(id, 10)) // a call may come twice
	return outbound.Send(client, request)
}
