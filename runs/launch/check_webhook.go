package launch

import (
	"net/url"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// checkWebhook rejects a webhook that could never be called.
func checkWebhook(webhook *workflow.ConditionWebhook) error {
	if webhook == nil {
		return nil
	}
	target, err := url.Parse(webhook.GetUrl())
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return rpc.InvalidArgument("condition.webhook.url", "must be an http or https URL with a host")
	}
	return nil
}
