package podstatus

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// logLinks returns the links of the task, then the configured ones. Their URIs may contain, in any case, {{ .X }} with X of:
// podName, podUID, podIP, namespace, hostname, containerName, containerID, podUnixStartTime, podUnixFinishTime,
// podRFC3339StartTime, podRFC3339FinishTime, taskID, taskVersion, taskProject, taskDomain, taskRetryAttempt, runName,
// actionName, executionName, executionProject, executionDomain, generatedName, perRetryUniqueKey. A link that refers to
// something that is not known yet, such as the end, is left out.
func (r *Reader) logLinks(attempt *plugin.Attempt, pod *corev1.Pod, state plugin.State) []*core.TaskLog {
	own := attempt.Template.GetMetadata().GetLogLinks()
	if len(own) == 0 && len(r.config.LogLinks) == 0 {
		return nil
	}
	values := linkValues(attempt, pod, state)
	var result []*core.TaskLog
	add := func(link *core.TaskLog) {
		if uri, complete := rendering.Link(link.GetUri(), values); complete {
			link.Uri = uri
			result = append(result, link)
		}
	}
	for _, link := range own {
		copied, _ := proto.Clone(link).(*core.TaskLog)
		copied.Ready = true
		add(copied)
	}
	for _, link := range r.config.LogLinks {
		switch {
		case len(link.Roles) == 0:
			add(&core.TaskLog{Name: link.Name, Uri: link.URI, Ready: true})
		case slices.Contains(link.Roles, pod.Labels[podspec.LabelRole]):
			add(&core.TaskLog{Name: link.Name, Uri: link.URI, Ready: true, LinkType: core.TaskLog_DASHBOARD, HideOnceFinished: true})
		}
	}
	return result
}

// LinksOfPods are the names of the links that differ by pod, such as those with a pod's name. The others are the same for all pods of
// an attempt.
func (r *Reader) LinksOfPods(attempt *plugin.Attempt) map[string]bool {
	values, differ := attemptValues(attempt), map[string]bool{}
	for _, link := range attempt.Template.GetMetadata().GetLogLinks() {
		_, complete := rendering.Link(link.GetUri(), values)
		differ[link.GetName()] = !complete
	}
	for _, link := range r.config.LogLinks {
		_, complete := rendering.Link(link.URI, values)
		differ[link.Name] = differ[link.Name] || !complete && len(link.Roles) == 0
	}
	return differ
}

// attemptValues are the values of an attempt, whatever pods it has, by lower-case name. Attempts count from 0 in links, as in the names
// of pods.
func attemptValues(attempt *plugin.Attempt) map[string]string {
	spec, id := attempt.Task.Spec, attempt.Template.GetId()
	return map[string]string{
		"namespace": attempt.Task.Namespace, "containername": podspec.PrimaryName(attempt.Template),
		"taskid": id.GetName(), "taskversion": id.GetVersion(), "taskproject": id.GetProject(), "taskdomain": id.GetDomain(),
		"taskretryattempt": strconv.Itoa(int(attempt.Number) - 1), "runname": spec.Run, "actionname": spec.Action,
		"executionname": spec.Run, "executionproject": spec.Project, "executiondomain": spec.Domain,
	}
}

// linkValues are the values that are known of an attempt and one of its pods, by lower-case name.
func linkValues(attempt *plugin.Attempt, pod *corev1.Pod, state plugin.State) map[string]string {
	values, primary := attemptValues(attempt), podspec.PrimaryName(attempt.Template)
	maps.Copy(values, map[string]string{
		"podname": pod.Name, "poduid": string(pod.UID), "namespace": pod.Namespace, "hostname": pod.Spec.NodeName,
		"generatedname": pod.Name, "perretryuniquekey": rendering.UniqueKey(pod.Name),
	})
	if address := pod.Status.PodIP; strings.Contains(address, ":") {
		values["podip"] = "[" + address + "]"
	} else if address != "" {
		values["podip"] = address
	}
	if status := statusOf(pod.Status.ContainerStatuses, primary); status != nil && status.ContainerID != "" {
		_, values["containerid"], _ = strings.Cut(status.ContainerID, "://")
	}
	for name, when := range map[string]time.Time{"start": state.StartedAt, "finish": state.EndedAt} {
		if !when.IsZero() {
			values["podunix"+name+"time"] = strconv.FormatInt(when.Unix(), 10)
			values["podrfc3339"+name+"time"] = when.UTC().Format(time.RFC3339)
		}
	}
	return values
}
