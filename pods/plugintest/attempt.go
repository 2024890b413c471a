package plugintest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Now is the time at which a test's clock starts.
func Now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// AttemptOf is the first attempt of an action a0 of run r1 with this template.
func AttemptOf(template *core.TaskTemplate, change ...func(*v1.TaskActionSpec)) *plugin.Attempt {
	start := metav1.NewMicroTime(Now().Add(60 * time.Microsecond))
	task := &v1.TaskAction{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "r1-a0-0123abcd", UID: "task-uid",
			Labels:      map[string]string{v1.LabelManaged: v1.ManagedValue, v1.LabelRun: "r1", "team": "ml"},
			Annotations: map[string]string{"note": "x"},
		},
		Spec: v1.TaskActionSpec{
			UID: 1, Project: "p", Domain: "d", Run: "r1", Action: "a0", ShortName: "main",
			InputURI: "/base/p/d/r1/inputs", RunOutputBase: "/base/p/d/r1/", Attempt: 1, RunStartTime: &start,
		},
	}
	for _, c := range change {
		c(&task.Spec)
	}
	return &plugin.Attempt{Task: task, Template: template, Number: 1, Dir: "/base/p/d/r1/a0/1", MayLaunch: true}
}

// Second turns an attempt into the second one of its action.
func Second(attempt *plugin.Attempt) *plugin.Attempt {
	attempt.Number, attempt.Dir, attempt.PreviousDir = 2, "/base/p/d/r1/a0/2", "/base/p/d/r1/a0/1"
	return attempt
}

// ContainerTask is a task with one container.
func ContainerTask(change ...func(*core.Container)) *core.TaskTemplate {
	container := &core.Container{Image: "image"}
	for _, c := range change {
		c(container)
	}
	return &core.TaskTemplate{
		Id: &core.Identifier{Project: "tp", Domain: "td", Name: "env.main", Version: "v1"}, Type: "python",
		Target: &core.TaskTemplate_Container{Container: container},
	}
}
