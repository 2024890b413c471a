package runs

import (
	"net/url"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/webhook"
)

// newWebhooks makes the loop that calls webhooks and the handler of their answers.
func (s *Service) newWebhooks() (err error) {
	list := store.NewWebhooks(s.pool)
	tokens := webhook.NewTokens(s.config.Webhooks.SigningKey, list)
	s.callbacks = &webhook.Callbacks{Tokens: tokens, Conditions: list, Signal: s.writer, Clock: s.clock, Logger: s.logger}
	s.webhooks, err = webhook.New(s.config.Webhooks, webhook.Deps{
		List: list, Writer: s.writer, Tokens: tokens, Leases: pgdb.NewLeases(s.pool, s.clock, s.replica), Clock: s.clock, Logger: s.logger,
	})
	return err
}

// checkWebhook refuses what could never be called.
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
