package runs

import (
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
)

// engineHandler serves EngineService. Its methods are in files of their own, one use case each.
type engineHandler struct {
	enginev1connect.UnimplementedEngineServiceHandler
	svc *Service
}

var _ enginev1connect.EngineServiceHandler = (*engineHandler)(nil)
