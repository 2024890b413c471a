package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels that tell which attempt of which action a pod is.
const (
	labelProject = "flyte.org/project"
	labelDomain  = "flyte.org/domain"
	labelRun     = "flyte.org/run"
	labelAction  = "flyte.org/action"
	labelAttempt = "flyte.org/attempt"
)

// attemptVariable has the number of earlier attempts.
const attemptVariable = "FLYTE_ATTEMPT_NUMBER"

// place is where a container may write.
type place struct {
	work, temp, home string
}

// place creates a container's directories. Of those of a run's pod the working directory is kept when the pod is deleted: clients that
// do not copy results into the object store name files in it, which live as long as the run (see RemoveRun). The others are freed then
// (see free). Temporary directories have short names of their own, since sockets are made in them.
func (n *Node) place(pod *corev1.Pod, c *corev1.Container) (place, error) {
	root := filepath.Join(n.podWork(pod, c), c.Name)
	p := place{work: filepath.Join(root, "work"), home: filepath.Join(root, "home")}
	p.temp = filepath.Join(n.cfg.DataDir, "tmp", shortUID(pod)+"-"+strconv.Itoa(indexOf(pod, c)))
	if err := n.makeAll(p.work, p.home, p.temp); err != nil {
		return p, fmt.Errorf("create the container's working directory: %w", err)
	}
	// The link says which temporary directory goes with the attempt.
	if err := os.Symlink(p.temp, filepath.Join(root, "tmp")); err != nil && !errors.Is(err, os.ErrExist) {
		return p, fmt.Errorf("create the container's working directory: %w", err)
	}
	if err := n.remember(pod, c.Name, root); err != nil {
		return p, fmt.Errorf("note the container's working directory: %w", err)
	}
	return p, nil
}

// makeAll creates directories and their parents.
func (n *Node) makeAll(dirs ...string) error {
	n.places.Lock()
	defer n.places.Unlock()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// podWork is the directory of a pod's working directories.
func (n *Node) podWork(pod *corev1.Pod, c *corev1.Container) string {
	label := pod.Labels
	if label[labelRun] == "" || label[labelAction] == "" {
		return filepath.Join(n.cfg.DataDir, "pods", string(pod.UID), "work")
	}
	return filepath.Join(n.runWork(label[labelProject], label[labelDomain], label[labelRun]),
		label[labelAction], attemptOf(pod, c), shortUID(pod))
}

func (n *Node) runWork(project, domain, run string) string {
	return filepath.Join(n.cfg.DataDir, "work", segment(project), segment(domain), segment(run))
}

// RemoveRun removes the working directories of a run's pods, once nothing names files in them. The pods
// themselves must be gone. Removing what is not there is not an error.
func (n *Node) RemoveRun(project, domain, run string) error {
	if run == "" {
		return errors.New("remove the files of a run: it has no name")
	}
	dir := n.runWork(project, domain, run)
	links, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*", "tmp"))
	if err != nil {
		return fmt.Errorf("remove the files of a run: %w", err)
	}
	errs := make([]error, 0, len(links)+1)
	for _, link := range links {
		if temp, err := os.Readlink(link); err == nil && filepath.Dir(temp) == filepath.Join(n.cfg.DataDir, "tmp") {
			errs = append(errs, os.RemoveAll(temp))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}

// attemptOf is the attempt that a pod is, from 1.
func attemptOf(pod *corev1.Pod, c *corev1.Container) string {
	if attempt := pod.Labels[labelAttempt]; attempt != "" {
		return segment(attempt)
	}
	for _, variable := range c.Env {
		if variable.Name == attemptVariable {
			if before, err := strconv.Atoi(variable.Value); err == nil {
				return strconv.Itoa(before + 1)
			}
		}
	}
	return "1"
}

// segment makes a label usable as one element of a path.
func segment(label string) string {
	label = strings.ReplaceAll(label, string(filepath.Separator), "_")
	if label == "" || label == "." || label == ".." {
		return "_"
	}
	return label
}

// shortUID is unlikely to collide with another pod of this machine.
func shortUID(pod *corev1.Pod) string {
	uid := strings.ReplaceAll(string(pod.UID), "-", "")
	return uid[:min(12, len(uid))]
}

// indexOf numbers the containers of a pod.
func indexOf(pod *corev1.Pod, c *corev1.Container) int {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == c.Name {
			return i
		}
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == c.Name {
			return len(pod.Spec.InitContainers) + i
		}
	}
	return -1
}

// workDir is the directory in which the process starts: a fresh one of its own, or one of the pod's volumes.
// Directories of the image do not exist on this machine.
func (l *launch) workDir(place place) (string, error) {
	wanted := l.c.WorkingDir
	if wanted == "" {
		return place.work, nil
	}
	if !filepath.IsAbs(wanted) {
		dir := filepath.Join(place.work, filepath.Join("/", wanted))
		return dir, os.MkdirAll(dir, 0o700)
	}
	if real := l.seen(wanted); real != wanted {
		return wanted, os.MkdirAll(real, 0o755) //nolint:gosec // below a volume
	}
	if l.plan.Plan != nil {
		for _, rewrite := range l.plan.Rewrites {
			if dir := rewrite.Apply(wanted); dir != wanted {
				return dir, os.MkdirAll(dir, 0o755) //nolint:gosec // as above
			}
		}
	}
	return place.work, nil
}
