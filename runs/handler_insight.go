package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
)

// insightHandler serves InsightService. Its methods are in files of their own, one use case each.
type insightHandler struct {
	insightv1connect.UnimplementedInsightServiceHandler
	svc *Service
}

var _ insightv1connect.InsightServiceHandler = (*insightHandler)(nil)
