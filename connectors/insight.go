package connectors

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

const (
	// pageSize is how many connectors a page has unless the caller says otherwise.
	pageSize = 50
	// shownTypes is how many types of a connector are listed.
	shownTypes = 100
)

// ListConnectors implements insightv1connect.ConnectorInsightServiceHandler.
func (h *handler) ListConnectors(ctx context.Context, r *insightv1.ListConnectorsRequest) (*insightv1.ListConnectorsResponse, error) {
	page, token, err := h.store.List(ctx, int(cmp.Or(r.GetLimit(), pageSize)), r.GetToken())
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListConnectorsResponse{Token: token}
	for i := range page {
		c := &page[i]
		shown := &insightv1.Connector{
			Name: c.Name, TaskTypes: c.Types[:min(len(c.Types), shownTypes)], Types: uint32(len(c.Types)), //nolint:gosec // they are few
			Problem: c.Problem, Jobs: c.Jobs, Deleting: c.Deleting, Waiting: c.Waiting, Late: durationpb.New(c.Late), LastError: c.LastError,
		}
		if c.AnsweredAt != nil {
			shown.AnsweredAt = timestamppb.New(*c.AnsweredAt)
		}
		if reached := h.registry.fleet.find(c.Name); reached != nil && reached.app != nil {
			shown.App, shown.Asleep = strings.TrimPrefix(c.Name, appPrefix), reached.asleep()
			shown.Project, shown.Domain = c.Project, c.Domain
		} else if reached != nil {
			shown.Url, shown.MaxJobs = address(reached.URL), int64(reached.MaxJobs)
		}
		answer.Connectors = append(answer.Connectors, shown)
	}
	return answer, nil
}

// address is the URL of a connector without what may be a credential.
func address(configured string) string {
	at, err := url.Parse(configured)
	if err != nil {
		return ""
	}
	return at.Scheme + "://" + at.Host + at.Path
}
