package notifications

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net"
	"net/http"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

// webhooks calls webhooks.
type webhooks struct{ client *http.Client }

func (w *webhooks) send(ctx context.Context, d *store.Delivery, template *notification.DeliveryConfigTemplate, data *Data) error {
	hook := template.GetWebhook()
	if hook == nil {
		return permanent(errors.New("it is no longer a webhook"))
	}
	request, err := webhookRequest(ctx, hook, data)
	if err != nil {
		return permanent(err)
	}
	request.Header.Set(outbound.HeaderKey, d.Key)
	request.Header.Set(outbound.HeaderDelivery, d.Key)
	return classify(outbound.Send(w.client, request))
}

// webhookRequest fills in the templates of a webhook.
func webhookRequest(ctx context.Context, hook *notification.WebhookDeliveryTemplate, data *Data) (*http.Request, error) {
	method, ok := methodName(hook.GetMethod())
	if !ok {
		return nil, errors.New("the method " + method + " is not supported")
	}
	header := http.Header{}
	for name, value := range hook.GetHeaders() {
		header.Set(name, inLine(fill(value, data, inLine)))
	}
	escape := asIs
	if isJSON(header, hook.GetBodyTemplate()) {
		escape = inJSON
	}
	var body []byte
	if method != http.MethodGet && method != http.MethodHead {
		body = []byte(fill(hook.GetBodyTemplate(), data, escape))
	}
	request, err := http.NewRequestWithContext(ctx, method, fill(hook.GetUrl(), data, inURL), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its URL cannot be read")
	}
	request.Header = header
	return request, nil
}

// isJSON reports whether values belong into JSON strings: if the body says so, or is a JSON document.
func isJSON(header http.Header, body string) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json")) {
		return true
	}
	return json.Valid([]byte(body))
}

// classify marks the failures that no further try can change: what the receiver refuses, and addresses that must not be
// called.
func classify(err error) error {
	var status *outbound.StatusError
	var forbidden *outbound.ForbiddenError
	var name *net.DNSError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		switch {
		case status.Status == http.StatusRequestTimeout, status.Status == http.StatusTooManyRequests, status.Status >= 500:
			return err
		}
		return permanent(err)
	case errors.As(err, &forbidden):
		return permanent(forbidden)
	case errors.Is(err, outbound.ErrRedirect):
		return permanent(err)
	case errors.As(err, &name):
		return errors.New("its host name cannot be resolved")
	}
	return err
}
