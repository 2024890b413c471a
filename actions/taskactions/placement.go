package taskactions

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// isEarlier reports whether the object of a live action is from an earlier placement: an attempt of it was taken back from this cluster
// while the cluster was away, and a later one came back to it.
func (s *session) isEarlier(uid int64, object any) bool {
	metadata, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return false
	}
	placement, _ := strconv.ParseUint(metadata.Labels[v1.LabelPlacement], 10, 32) // without the label it is the first
	return uint32(placement) < s.desired.placement(uid)
}

// replace deletes the objects of earlier placements. The present one gets its object when they and their pods are gone.
func (s *session) replace(ctx context.Context, uid int64, objects []*metav1.PartialObjectMetadata) error {
	for _, object := range objects {
		if _, deleted := s.deleted.Load(object.UID); deleted || !object.DeletionTimestamp.IsZero() || !s.isEarlier(uid, object) {
			continue
		}
		if err := s.remove(ctx, uid, object); err != nil {
			return err
		}
	}
	return errEarlier
}
