package notifications

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

const (
	// maxTests is how many calls may send a test at once, in each process.
	maxTests = 4
	// testRun is what a test calls the run that there is not.
	testRun = "test"
)

// reported are the phases of rules, in the order in which people read them.
var reported = []common.ActionPhase{
	common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_TIMED_OUT, common.ActionPhase_ACTION_PHASE_ABORTED,
	common.ActionPhase_ACTION_PHASE_PAUSED, common.ActionPhase_ACTION_PHASE_SUCCEEDED,
}

// ListRules implements insightv1connect.NotificationServiceHandler.
func (h *handler) ListRules(ctx context.Context, request *insightv1.ListRulesRequest) (*insightv1.ListRulesResponse, error) {
	project, domain := request.GetProjectId().GetName(), request.GetProjectId().GetDomain()
	if err := checkPlace(project, domain); err != nil {
		return nil, err
	}
	response := &insightv1.ListRulesResponse{}
	var causes []store.Cause
	for _, name := range h.book.order {
		r := h.book.rules[name]
		if !r.applies(project, domain) {
			continue
		}
		one := &insightv1.NotificationRule{Name: name, Everywhere: r.Everywhere, Phases: r.list()}
		for _, delivery := range r.Deliveries {
			parts, err := h.book.split(store.Delivery{}, wanted{rule: name, delivery: delivery})
			if err != nil {
				return nil, err
			}
			receiver := &insightv1.RuleReceiver{DeliveryConfigName: delivery}
			for _, part := range parts {
				receiver.Kind = insightv1.DeliveryKind(part.Kind)
				receiver.Targets = append(receiver.Targets, part.Target)
			}
			one.Receivers = append(one.Receivers, receiver)
			causes = append(causes, store.Cause{Rule: name, Delivery: delivery})
		}
		response.Rules = append(response.Rules, one)
	}
	last, err := h.store.Last(ctx, project, domain, causes)
	if err != nil {
		return nil, err
	}
	for _, r := range response.GetRules() {
		for _, receiver := range r.GetReceivers() {
			if d, ok := last[store.Cause{Rule: r.GetName(), Delivery: receiver.GetDeliveryConfigName()}]; ok {
				receiver.Last = shown(&d)
			}
		}
	}
	return response, nil
}

// list are the phases of a rule.
func (r rule) list() (list []common.ActionPhase) {
	for _, one := range reported {
		if r.phases&(1<<one) != 0 {
			list = append(list, one)
		}
	}
	return list
}

// SendTest implements insightv1connect.NotificationServiceHandler. Tests are made like other tries, by the same senders with the same
// limits, but once and while the caller waits; nothing of them is stored.
func (h *handler) SendTest(ctx context.Context, request *insightv1.SendTestRequest) (*insightv1.SendTestResponse, error) {
	place := ident.Run{Project: request.GetProjectId().GetName(), Domain: request.GetProjectId().GetDomain(), Name: testRun}
	if err := checkPlace(place.Project, place.Domain); err != nil {
		return nil, err
	}
	r, known := h.book.rules[request.GetRule()]
	if !known || !r.applies(place.Project, place.Domain) {
		return nil, rpc.NotFound("there is no rule %q in notifications.rules for %s/%s", request.GetRule(), place.Project, place.Domain)
	}
	select {
	case h.tests <- struct{}{}:
		defer func() { <-h.tests }()
	default:
		return nil, rpc.ResourceExhausted("%d tests are being sent; try again in a moment", maxTests)
	}
	parts, err := h.testOf(ctx, r, place)
	if err != nil {
		return nil, err
	}
	response := &insightv1.SendTestResponse{Results: make([]*insightv1.TestResult, len(parts))}
	var sending sync.WaitGroup
	for i := range parts {
		sending.Go(func() { response.Results[i] = h.deliver.test(ctx, &parts[i]) })
	}
	sending.Wait()
	return response, nil
}

// testOf are the deliveries of a test of a rule.
func (h *handler) testOf(ctx context.Context, r rule, run ident.Run) (parts []store.Delivery, err error) {
	by := authz.IdentityFrom(ctx).Name
	if by == "" {
		by = caller.Subject(ctx)
	}
	reports := r.list()[0] // a rule has at least one
	text := "This is a test of the notification rule " + r.Name + ", sent by " + by + ". No run has ended or waits."
	data := Data{Project: run.Project, Domain: run.Domain, Run: run.Name, Phase: phase.Name(reports), Error: text}
	if reports == common.ActionPhase_ACTION_PHASE_PAUSED {
		data.Error, data.Action, data.Prompt = "", testRun, text
	}
	body, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	for _, delivery := range r.Deliveries {
		base := store.Delivery{Run: run, Action: "a0", Phase: int16(reports), Rule: r.Name, Delivery: delivery, Data: body, CreatedAt: h.clock.Now()} //nolint:gosec // an enum of few values
		split, err := h.book.split(base, wanted{rule: r.Name, delivery: delivery})
		if err != nil {
			return nil, err
		}
		parts = append(parts, split...)
	}
	for i := range parts {
		parts[i].Key = "test-" + rand.Text()
	}
	return parts, nil
}

// test makes the only try of a test.
func (l *deliverer) test(ctx context.Context, d *store.Delivery) *insightv1.TestResult {
	trying, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	result := &insightv1.TestResult{DeliveryConfigName: d.Delivery, Kind: insightv1.DeliveryKind(d.Kind), Target: d.Target}
	outcome := resultDelivered
	if err := l.try(trying, d); err != nil {
		outcome, result.Error = resultDead, clip.Ellipsis(err.Error(), maxShown)
	}
	l.metrics.count(context.WithoutCancel(ctx), outcome, d.Kind)
	return result
}

func checkPlace(project, domain string) error {
	switch {
	case project == "":
		return rpc.InvalidArgument("project_id.name", "is required")
	case domain == "":
		return rpc.InvalidArgument("project_id.domain", "is required")
	}
	return nil
}
