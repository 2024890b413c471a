package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
	"github.com/flyte-binary/flyte-binary/demo/node/podnet"
	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/security"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/demo/node/warm"
)

// messageFile is where a container may write why it ended, in the directory of its run.
const messageFile = "message"

// waitError means that a container cannot be started yet.
type waitError struct {
	reason string // of the waiting state
	event  string
	err    error

	port, holder string // of a container that waits for its port
}

// Error implements error.
func (e *waitError) Error() string { return e.err.Error() }

// Unwrap makes the cause visible.
func (e *waitError) Unwrap() error { return e.err }

// later turns temporary problems into a wait. The container waits with the given reason if an object is missing, and with
// ContainerCreating if the API server does not answer, which is not a fault of the container.
func later(err error, reason, event string) error {
	if err == nil || errors.Is(err, podvolume.ErrUnsupported) {
		return err
	}
	switch {
	case podenv.IsMissing(err):
		return &waitError{reason: reason, event: event, err: err}
	case isAPI(err):
		return &waitError{reason: "ContainerCreating", event: event, err: err}
	}
	return err
}

// start starts a container's process.
func (w *worker) start(ctx context.Context, c *container) (*process.Process, error) {
	volumes, err := w.makeVolumes(ctx)
	if err != nil {
		return nil, later(err, "CreateContainerConfigError", "FailedMount") // as for variables: it does not wait forever
	}
	w.mu.Lock()
	run := c.restarts
	w.mu.Unlock()
	dir := w.runDir(c, run)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the container's directory: %w", err)
	}
	if err := w.holdDevices(); err != nil {
		return nil, err
	}
	pod := w.pod()
	settled, err := w.withPort(ctx, pod, c)
	if err != nil {
		return nil, err
	}
	spec := settled.spec
	resolver := w.n.resolver
	resolver.Node.PodIP = podnet.IP(pod, w.n.cfg.Address)
	env, err := resolver.Container(ctx, pod, spec)
	if err != nil {
		return nil, later(err, "CreateContainerConfigError", "Failed")
	}
	l := &launch{w: w, pod: pod, c: spec, env: env, dir: dir, line: podenv.CommandLine(spec, env), volumes: volumes}
	command, err := l.command(ctx)
	if err != nil {
		l.plan.release()
		return nil, err
	}
	if command.Port = settled.port; command.Port != nil {
		command.Notice += markNotice(fmt.Sprintf("Port %d of this machine is not free, so this program has port %d instead. It finds itself at "+
			"its own port; others find it at the address of the app.", command.Port.Declared, command.Port.Given))
	}
	if command.Network, err = l.network(); err != nil {
		l.plan.release()
		return nil, err
	}
	command.ID = string(w.uid) + "/" + c.spec.Name + "/" + filepath.Base(dir)
	// Before the lock: a parent that is just being started takes a second.
	if fork := w.n.warm.Find(ctx, w.stopped, l.warmRequest(command)); fork != nil {
		command.Forker = fork
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		l.plan.release()
		return nil, &waitError{reason: "ContainerCreating", event: "Killing", err: errors.New("the pod is being stopped")}
	}
	p, err := w.n.launcher.Start(dir, command)
	if err != nil {
		l.plan.release()
		return nil, err
	}
	if l.notice != "" && c.notice == "" {
		w.n.recorder.Event(pod, corev1.EventTypeWarning, l.reason, "Container "+c.spec.Name+": "+l.notice)
	}
	c.proc, c.plan, c.notice, c.reason, c.command = p, l.plan.Plan, l.notice, l.reason, &command
	return p, nil
}

// makeVolumes creates the pod's volumes before the first container starts.
func (w *worker) makeVolumes(ctx context.Context) (map[string]string, error) {
	w.prepare.Lock()
	defer w.prepare.Unlock()
	if w.volumes != nil {
		return w.volumes, nil
	}
	if len(w.pod().Spec.Volumes) == 0 {
		w.volumes = map[string]string{}
		return w.volumes, nil
	}
	dir := filepath.Join(w.dir, "volumes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the pod's directory: %w", err)
	}
	volumes, err := w.n.volumes.Make(ctx, w.pod(), dir)
	if err != nil {
		return nil, err
	}
	w.volumes = volumes
	return volumes, nil
}

// launch collects the parameters of a process.
type launch struct {
	w       *worker
	pod     *corev1.Pod
	c       *corev1.Container
	env     *podenv.Environment // the container's own, then the whole
	line    []string
	dir     string
	volumes map[string]string
	home    string
	plan    heldPlan
	notice  string // what users should know although nothing has failed, and its reason
	reason  string
}

// heldPlan is a plan or none.
type heldPlan struct{ *podvolume.Plan }

func (h heldPlan) release() {
	if h.Plan != nil {
		h.Plan.Release()
	}
}

// command computes the whole command. Its errors are for the author of the task.
func (l *launch) command(ctx context.Context) (process.Command, error) {
	var none process.Command
	cfg := l.w.n.cfg
	image, mapped := cfg.environmentFor(l.c.Image)
	made, err := cfg.madeFor(l.pod, l.c.Image)
	switch {
	case err != nil:
		return none, err
	case made != nil:
		image, l.notice, l.reason = made.Venv, made.Warning, reasonImageInconsistent
	case !mapped:
		l.notice, l.reason = standIn(l.c.Image, image), reasonImageNotMapped
	}
	if len(l.line) == 0 {
		return none, fmt.Errorf("the container has no command and no arguments. The default command of image %q is unknown, "+
			"because containers run as processes of this machine", l.c.Image)
	}
	place, err := l.w.n.place(l.pod, l.c)
	if err != nil {
		return none, err
	}
	l.home = place.home
	l.environment(cfg, image, made, place)
	if made != nil {
		if err := made.CopyInto(place.work); err != nil {
			return none, fmt.Errorf("copy the files of image %s: %w", l.c.Image, err)
		}
	}
	if err := l.mounts(place, image); err != nil {
		return none, err
	}
	work, err := l.workDir(place)
	if err != nil {
		return none, err
	}
	path, err := l.look(l.line[0], work)
	if err != nil {
		return none, l.notFound(image, err)
	}
	security, err := security.Translate(l.pod.Spec.SecurityContext, l.securityContext(), l.w.n.machine())
	if err != nil {
		return none, err
	}
	if security.User != nil {
		if err := l.handOver(*security.User, place); err != nil {
			return none, err
		}
	}
	if security.ReadOnlyRoot {
		security.Writable = l.writable()
	}
	var memory resource.Quantity
	if limit, ok := l.c.Resources.Limits[corev1.ResourceMemory]; ok {
		memory = limit
	}
	return process.Command{
		Path: path, Argv: l.line, Env: l.env.List(), Dir: work, MemoryBytes: memory.Value(), Mounts: l.binds(),
		Security: security, Notice: markNotice(l.notice),
	}, nil
}

// hostsFile has the names of the container's processes, in the directory of its run.
const hostsFile = "hosts"

// network gives the process the address and the names of its pod; nil if both are those of the machine.
func (l *launch) network() (*shim.Network, error) {
	cfg, result := l.w.n.cfg, &shim.Network{}
	own, has := podnet.Address(l.pod)
	if has && cfg.GivePorts {
		result.Address = own
	}
	if (has || len(l.pod.Spec.HostAliases) > 0) && cfg.GiveNames {
		machine, err := os.ReadFile("/etc/hosts")
		if err != nil {
			return nil, fmt.Errorf("read the names that this machine knows: %w", err)
		}
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("find the name of this machine: %w", err)
		}
		result.Hosts = filepath.Join(l.dir, hostsFile)
		if err := os.WriteFile(result.Hosts, podnet.Hosts(l.pod, cfg.Address, name, machine), 0o644); err != nil { //nolint:gosec // as /etc/hosts
			return nil, fmt.Errorf("write the names of the pod: %w", err)
		}
	}
	if *result == (shim.Network{}) {
		return nil, nil //nolint:nilnil // documented
	}
	return result, nil
}

// warmRequest describes a process to those who could fork it.
func (l *launch) warmRequest(command process.Command) warm.Request {
	return warm.Request{
		Path: command.Path, Env: command.Env, Home: l.home,
		Restricted: !command.Security.IsZero() || command.Port != nil || command.Network != nil, Mounted: len(command.Mounts) > 0,
	}
}

// ownImage reports whether the container runs this program.
func (l *launch) ownImage() bool {
	return l.w.n.cfg.OwnImage != "" && l.c.Image == l.w.n.cfg.OwnImage
}

// securityContext is the container's own. This program, the co-pilot of raw containers, is fenced in a cluster; here it
// already runs with all rights of the demo, and must run where no fences are available.
func (l *launch) securityContext() *corev1.SecurityContext {
	own := l.c.SecurityContext
	if own == nil || !l.ownImage() {
		return own
	}
	own = own.DeepCopy()
	own.AllowPrivilegeEscalation, own.ReadOnlyRootFilesystem = nil, nil
	return own
}

// markNotice makes a notice a line of a log.
func markNotice(text string) string {
	if text == "" {
		return ""
	}
	return "[local node] " + text + "\n"
}

// notFound explains that a command was not found. It names the command as it is written: it may have been expanded from a
// secret.
func (l *launch) notFound(image string, err error) error {
	command := slices.Concat(l.c.Command, l.c.Args)[0]
	if image == "" {
		return fmt.Errorf("the command %q of image %q was not found in the PATH of this machine (%w). Containers run as processes here: "+
			"install the command, or map the image to a directory whose bin has it, with an entry of node.images in the configuration",
			command, l.c.Image, err)
	}
	return fmt.Errorf("the command %q of image %q was not found (%w). Containers run as processes of this machine and the "+
		"environment %s stands in for this image: install the command there, or map the image to another environment with an "+
		"entry of node.images in the configuration", command, l.c.Image, err, image)
}

func (l *launch) binds() []shim.Mount {
	if l.plan.Plan == nil {
		return nil
	}
	return l.plan.Binds
}

// mounts makes the container's volumes visible at their mount paths, or rewrites the paths where that is impossible.
func (l *launch) mounts(place place, image string) error {
	message := podvolume.Rewrite{From: l.c.TerminationMessagePath, To: filepath.Join(l.dir, messageFile)}
	if message.From != "" {
		l.rewrite(message)
	}
	var mounts []podvolume.Mount
	for _, m := range l.c.VolumeMounts {
		source, ok := l.volumes[m.Name]
		if !ok {
			continue // a volume that may be left out
		}
		source, err := l.subPath(source, m)
		if err != nil {
			return err
		}
		mounts = append(mounts, podvolume.Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly, Scratch: l.scratch(m)})
	}
	if len(mounts) == 0 {
		return nil
	}
	protect := []string{place.work, place.temp, place.home, l.w.dir}
	if image != "" {
		protect = append(protect, image)
	}
	plan, err := l.w.n.mounter.Plan(mounts, protect...)
	if errors.Is(err, podvolume.ErrRecords) {
		return &waitError{reason: "ContainerCreating", event: "FailedMount", err: err}
	}
	if err != nil {
		return err
	}
	l.plan = heldPlan{plan}
	mentioned := map[podvolume.Rewrite]bool{}
	for _, rewrite := range plan.Rewrites {
		mentioned[rewrite] = l.rewrite(rewrite)
	}
	for _, unseen := range plan.Unseen {
		if !mentioned[unseen.Rewrite] {
			return fmt.Errorf("the volume at %s cannot be made visible to the process: %w. The path may be created by running as root on "+
				"Linux, or be named in the container's command, arguments or environment, where it is replaced by the volume's real place %s",
				unseen.Rewrite.From, unseen.Why, unseen.Rewrite.To)
		}
	}
	return nil
}

// rewrite replaces a path wherever the container mentions it, and reports whether it does.
func (l *launch) rewrite(r podvolume.Rewrite) bool {
	found := false
	apply := func(text string) string {
		changed := r.Apply(text)
		found = found || changed != text
		return changed
	}
	for i := range l.line {
		l.line[i] = apply(l.line[i])
	}
	l.env.Map(apply)
	return found
}

// scratch reports whether a mount is an emptyDir that only this container uses.
func (l *launch) scratch(m corev1.VolumeMount) bool {
	for _, v := range l.pod.Spec.Volumes {
		if v.Name == m.Name {
			return v.EmptyDir != nil && m.SubPath == "" && len(l.pod.Spec.Containers)+len(l.pod.Spec.InitContainers) == 1
		}
	}
	return false
}

// subPath resolves a path inside a volume, and never leaves it.
func (l *launch) subPath(source string, m corev1.VolumeMount) (string, error) {
	sub := m.SubPath
	if m.SubPathExpr != "" {
		sub = podenv.Expand(m.SubPathExpr, l.env.Get)
	}
	if sub == "" {
		return source, nil
	}
	written := cmp.Or(m.SubPathExpr, sub) // a variable may be a secret
	root, err := os.OpenRoot(source)
	if err != nil {
		return "", fmt.Errorf("the volume %s: %w", m.Name, err)
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Stat(sub); errors.Is(err, os.ErrNotExist) {
		err = root.MkdirAll(sub, 0o755)
		if err != nil {
			return "", fmt.Errorf("the path %q of volume %s: %w", written, m.Name, reasonOf(err))
		}
	} else if err != nil {
		return "", fmt.Errorf("the path %q of volume %s: %w", written, m.Name, reasonOf(err))
	}
	return filepath.Join(source, sub), nil
}

// seen translates a path of the process to this machine.
func (l *launch) seen(path string) string {
	best, source := "", ""
	for _, m := range l.binds() {
		if (path == m.Target || strings.HasPrefix(path, m.Target+"/")) && len(m.Target) > len(best) {
			best, source = m.Target, m.Source
		}
	}
	return source + strings.TrimPrefix(path, best)
}
