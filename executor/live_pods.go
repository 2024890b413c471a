package executor

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// liveBatch is how many actions one request asks for: their ids are part of its URL.
const liveBatch = 100

// LivePods returns those of the actions of a shard that have pods that have not ended. It asks the API server: the cache may not know yet of
// a pod that was created just before its action was taken away.
func (s *Service) LivePods(ctx context.Context, shard int, uids []int64) ([]int64, error) {
	found := map[int64]bool{}
	for batch := range slices.Chunk(uids, liveBatch) {
		ids := make([]string, len(batch))
		for i, uid := range batch {
			ids[i] = strconv.FormatInt(uid, 10)
		}
		ofThese, err := labels.NewRequirement(v1.LabelUID, selection.In, ids)
		if err != nil {
			return nil, fmt.Errorf("list the pods of actions: %w", err)
		}
		options := metav1.ListOptions{
			LabelSelector: selector(s.deps.Installation, shard).Add(*ofThese).String(),
			FieldSelector: fields.AndSelectors(
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
				fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed))).String(),
		}
		for _, namespace := range s.config.namespaces() {
			pods, err := s.clientset.CoreV1().Pods(namespace).List(ctx, options)
			if err != nil {
				return nil, fmt.Errorf("list the pods of actions: %w", err)
			}
			for i := range pods.Items {
				if uid, err := strconv.ParseInt(pods.Items[i].Labels[v1.LabelUID], 10, 64); err == nil {
					found[uid] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(uids), func(uid int64) bool { return !found[uid] }), nil
}
