package ray

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyte-binary/flyte-binary/attempts"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/manifest"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/sharing"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// labelCluster is the label of KubeRay by which a RayJob names the cluster that it uses.
const labelCluster = "ray.io/cluster"

// sharedSpec returns the specification of a RayJob that uses the cluster of its environment, which exists before it.
func (r *ray) sharedSpec(ctx context.Context, draft *operated.Draft, wanted *plugins.RayJob) (map[string]any, error) {
	job, err := manifest.JobInShared(ctx, draft, wanted)
	if err != nil {
		return nil, err
	}
	cluster, err := r.shared(ctx, draft.Attempt, wanted.GetRayCluster())
	if err != nil {
		return nil, err
	}
	draft.First = func(ctx context.Context, job *unstructured.Unstructured) error {
		uid, err := r.sharing.Ensure(ctx, cluster)
		labels := job.GetLabels()
		labels[rayclusters.LabelCluster], labels[rayclusters.LabelUID] = cluster.Name, string(uid)
		job.SetLabels(labels)
		return err
	}
	draft.NoQueue = true // the cluster waits for the queue, and a job in it needs nothing more
	job["clusterSelector"] = map[string]any{labelCluster: cluster.Name}
	return job, nil
}

// shared returns the cluster that an attempt shares. Its name is a digest of all that it consists of and of who may use it, so attempts
// of different projects, service accounts, secrets or definitions never share one. A new version of the code keeps the cluster: each
// job is a process of its own.
func (r *ray) shared(ctx context.Context, attempt *plugin.Attempt, wanted *plugins.RayCluster) (*rayclusters.Wanted, error) {
	policy, spec := attempt.Template.GetReusePolicy(), &attempt.Task.Spec
	result := &rayclusters.Wanted{
		Namespace: attempt.Task.Namespace, Labels: map[string]string{},
		Idle: min(max(policy.GetIdleTtl().AsDuration(), sharing.LeastIdle), sharing.LongestIdle).Truncate(time.Second),
	}
	for _, name := range []string{v1.LabelManaged, v1.LabelInstallation, v1.LabelProject, v1.LabelDomain} {
		if value := attempt.Task.Labels[name]; value != "" {
			result.Labels[name] = value
		}
	}
	if policy.GetScope() == core.ReusePolicy_RUN {
		result.Run = spec.Run
	}
	// The name depends on what it is made of, and what it is made of has its name: it is made twice, first without.
	draft, err := r.sharedCluster(ctx, attempt, wanted, result)
	if err != nil {
		return nil, err
	}
	security, err := proto.MarshalOptions{Deterministic: true}.Marshal(attempt.Template.GetSecurityContext())
	if err != nil {
		return nil, fmt.Errorf("encode the security context: %w", err)
	}
	environment, _, _ := strings.Cut(attempt.Template.GetId().GetName(), ".")
	made, err := json.Marshal([]any{
		r.deps.Installation, spec.Project, spec.Domain, environment, policy.GetName(), policy.GetVersion(), result.Run, result.Idle, security,
		draft.spec, draft.queue,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the shared cluster: %w", err)
	}
	digest := sha256.Sum256(made)
	result.Name = "ray-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(digest[:]))[:26]
	if draft, err = r.sharedCluster(ctx, attempt, wanted, result); err != nil {
		return nil, err
	}
	result.Spec, result.Secrets = draft.spec, draft.secrets.made
	if draft.queue != "" {
		result.Labels[kueue.LabelQueue] = draft.queue
	}
	return result, nil
}

// sharedDraft is a shared cluster that is being made.
type sharedDraft struct {
	*ray

	attempt *plugin.Attempt // none in particular: what all attempts that share the cluster have in common
	name    string
	labels  map[string]string
	holder  *attemptsecret.Holder
	secrets collected
	keeper  *attemptsecret.Keeper
	spec    map[string]any
	queue   string
}

func (r *ray) sharedCluster(ctx context.Context, attempt *plugin.Attempt, wanted *plugins.RayCluster, of *rayclusters.Wanted) (*sharedDraft, error) {
	d := &sharedDraft{ray: r, attempt: inCommon(attempt, of), name: of.Name, labels: of.Labels, holder: attemptsecret.HolderOf(attempt)}
	d.holder.Name, d.holder.Owner, d.holder.Asked = v1.PodName(d.attempt.Task.Name, d.attempt.Number), nil, d.attempt.Template.GetSecurityContext().GetSecrets()
	// Without tokens: the cluster has none, and each job brings its own.
	d.keeper = attemptsecret.New(plugin.Deps{Live: r.deps.Live, Writer: &d.secrets, Secrets: r.deps.Secrets, Clock: r.deps.Clock})
	var err error
	if d.spec, err = manifest.Cluster(ctx, d.attempt.Template, d.pods, wanted); err != nil {
		return nil, err
	}
	labels := maps.Clone(of.Labels)
	for _, given := range []map[string]string{attempt.Template.GetMetadata().GetMetadata().GetLabels(), attempt.Task.Labels} {
		if queue := given[kueue.LabelQueue]; kueue.IsQueue(queue) {
			labels[kueue.LabelQueue] = queue
		}
	}
	d.queue = r.own.Queues.Of(Name, labels, r.own.Queue)
	return d, nil
}

// inCommon returns an attempt without what differs between those that share a cluster: names, variables and labels of the run,
// secrets that are variables, and the attempts before.
func inCommon(attempt *plugin.Attempt, of *rayclusters.Wanted) *plugin.Attempt {
	task := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, Labels: of.Labels}}
	task.Spec = *attempt.Task.Spec.DeepCopy()
	task.Spec.Run, task.Spec.Action, task.Spec.Env = "", "", nil
	template := proto.CloneOf(attempt.Template)
	if security := template.GetSecurityContext(); security != nil {
		security.Secrets = slices.DeleteFunc(security.GetSecrets(), func(secret *core.Secret) bool {
			return !attemptsecret.IsFile(secret)
		})
	}
	return &plugin.Attempt{Task: task, Template: template, Number: 1}
}

// pods is the manifest.PodMaker of a shared cluster: its pods belong to no attempt.
func (d *sharedDraft) pods(ctx context.Context, role podspec.Role, change func(*corev1.PodTemplateSpec, *corev1.Container)) (map[string]any, error) {
	template, err := d.specs.BuildMember(ctx, d.attempt, role)
	if err != nil {
		return nil, err
	}
	for name := range template.Labels {
		if strings.HasPrefix(name, v1.Group+"/") || name == kueue.LabelQueue {
			delete(template.Labels, name)
		}
	}
	for name, value := range d.labels {
		if name != v1.LabelManaged { // the executor looks for pods of attempts by it
			template.Labels[name] = value
		}
	}
	template.Labels[podspec.LabelRole] = role.Name
	if d.name != "" {
		template.Labels[rayclusters.LabelCluster] = d.name
	}
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			containers[i].Env = slices.DeleteFunc(containers[i].Env, func(v corev1.EnvVar) bool { return attempts.Varies(v.Name) })
		}
	}
	d.holder.Role = role.Name
	if d.name != "" && d.deps.Secrets != nil {
		if err := d.keeper.PrepareFor(ctx, d.holder, template); err != nil {
			return nil, err
		}
	}
	change(template, operated.Primary(template, d.attempt.Template))
	return operated.Map(template)
}
