package taskactions

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// adopt labels an object from before there were labels of installations as ours, and its pods. The pods come first, so
// that an executor that sees the object sees them too.
func (c *cluster) adopt(ctx context.Context, object client.Object) error {
	marks := map[string]string{
		v1.LabelInstallation: c.installation, v1.LabelShard: strconv.Itoa(labelledAction(object.GetLabels()).Run.Shard()),
	}
	mark, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": marks}})
	if err != nil {
		return fmt.Errorf("encode label: %w", err)
	}
	var pods corev1.PodList
	err = c.client.List(ctx, &pods, client.InNamespace(object.GetNamespace()),
		client.MatchingLabels{v1.LabelManaged: v1.ManagedValue, v1.LabelUID: object.GetLabels()[v1.LabelUID]})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", object.GetName(), err)
	}
	for i := range pods.Items {
		if owner := metav1.GetControllerOf(&pods.Items[i]); owner == nil || owner.UID != object.GetUID() {
			continue
		}
		if err := c.client.Patch(ctx, &pods.Items[i], client.RawPatch(types.MergePatchType, mark)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("label pod %s: %w", pods.Items[i].Name, err)
		}
	}
	target := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
	if err := c.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, mark)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("label TaskAction %s: %w", object.GetName(), err)
	}
	return nil
}

// unmarked looks at objects without the label of an installation, of an older version or of another installation.
// Those of actions in this database belong to this installation; the comparison that follows handles them. The others are left
// alone. The session of the first shard does so for all.
func (s *session) unmarked(ctx context.Context) {
	if s.installation == "" || s.shard > 0 {
		return
	}
	found, err := s.objects.unmarked(ctx)
	if err != nil {
		s.logger.Warn().Err(err).Msg("cannot list TaskActions without an installation label; retrying with the next comparison")
		return
	}
	for i := range found {
		if err := s.adoptKnown(ctx, &found[i]); err != nil && ctx.Err() == nil {
			s.logger.Warn().Err(err).Str("taskAction", found[i].Name).Msg("cannot label the TaskAction; retrying with the next comparison")
		}
	}
}

func (s *session) adoptKnown(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	uid, ok := uidOf(object)
	if !ok {
		return nil
	}
	id := labelledAction(object.Labels)
	// The name has a hash of all names and of the uid, so that actions of other databases do not match by accident.
	if !strings.HasSuffix(object.Name, Name(id, uid)[len(Name(id, uid))-8:]) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	if known, err := s.isKnown(ctx, id); err != nil || !known {
		return err
	}
	if err := s.cluster.adopt(ctx, object); err != nil {
		return err
	}
	s.repaired(ctx, driftUnmarked, true, uid, object)
	return nil
}
