package dataproxy

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// uploadsHandler serves UploadService.
type uploadsHandler struct{ quota *uploadQuota }

// GetUploaded implements enginev1connect.UploadServiceHandler.
func (h uploadsHandler) GetUploaded(ctx context.Context, r *enginev1.GetUploadedRequest) (*enginev1.GetUploadedResponse, error) {
	limit, key := &h.quota.project, r.GetProject()
	if key == "" {
		limit, key = &h.quota.callers, r.GetCaller()
	}
	used, err := limit.used(ctx, h.quota.store, key, h.quota.clock.Now())
	if err != nil {
		return nil, err
	}
	return &enginev1.GetUploadedResponse{Setting: limit.setting, Most: limit.most, Used: used}, nil
}
