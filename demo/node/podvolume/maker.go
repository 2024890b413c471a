package podvolume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
)

// Tokens issues service account tokens bound to a pod.
type Tokens interface {
	Token(ctx context.Context, pod *corev1.Pod, audience string, seconds int64) (string, error)
}

// Maker creates volumes.
type Maker struct {
	Source podenv.Source
	Node   podenv.Node
	// Tokens may be nil. Then the token volume that the API server adds to every pod is left out, and a requested one
	// is an error.
	Tokens Tokens
	// MemoryDir is a directory whose files live in memory, or nothing. With it, volumes with secrets are there.
	MemoryDir string
}

// ErrUnsupported means that a volume is impossible on this machine.
var ErrUnsupported = errors.New("not supported by the local node")

// automatic is the prefix of volumes that the API server adds to every pod for its service account.
const automatic = "kube-api-access-"

// Make creates the volumes below dir, which must exist, and returns the path of each. A volume that may be left out is
// not among them. An error for which podenv.IsMissing holds may pass with time.
func (m Maker) Make(ctx context.Context, pod *corev1.Pod, dir string) (map[string]string, error) {
	paths := make(map[string]string, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		path, err := m.volume(ctx, pod, volume, filepath.Join(dir, volume.Name))
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", volume.Name, err)
		}
		if path != "" {
			paths[volume.Name] = path
		}
	}
	return paths, nil
}

func (m Maker) volume(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, path string) (string, error) {
	if m.MemoryDir != "" && hasSecret(v) {
		// Values of secrets never touch the disk. Other users of the machine have no way to them.
		private := m.memoryPath(pod.UID, v.Name)
		if err := os.MkdirAll(private, 0o700); err != nil {
			return "", err
		}
		path = filepath.Join(private, "files")
	}
	switch {
	case v.EmptyDir != nil:
		if v.EmptyDir.Medium == corev1.StorageMediumMemory && m.MemoryDir != "" {
			path = m.memoryPath(pod.UID, v.Name)
		}
		return path, os.MkdirAll(path, 0o755) //nolint:gosec // other users of the volume are this user's processes
	case v.HostPath != nil:
		return hostPath(v.HostPath)
	case v.ConfigMap != nil:
		data, err := podenv.ConfigData(ctx, m.Source, pod.Namespace, v.ConfigMap.Name, v.ConfigMap.Optional)
		if err != nil {
			return "", err
		}
		missing := podenv.MissingError{Kind: "ConfigMap", Namespace: pod.Namespace, Name: v.ConfigMap.Name}
		files, err := choose(data, v.ConfigMap.Items, mode(v.ConfigMap.DefaultMode), missing, v.ConfigMap.Optional)
		return path, errors.Join(err, write(path, files))
	case v.Secret != nil:
		data, err := podenv.SecretData(ctx, m.Source, pod.Namespace, v.Secret.SecretName, v.Secret.Optional)
		if err != nil {
			return "", err
		}
		missing := podenv.MissingError{Kind: "Secret", Namespace: pod.Namespace, Name: v.Secret.SecretName}
		files, err := choose(data, v.Secret.Items, mode(v.Secret.DefaultMode), missing, v.Secret.Optional)
		return path, errors.Join(err, write(path, files))
	case v.DownwardAPI != nil:
		files, err := m.downward(pod, v.DownwardAPI.Items, mode(v.DownwardAPI.DefaultMode))
		return path, errors.Join(err, write(path, files))
	case v.Projected != nil:
		if m.Tokens == nil && strings.HasPrefix(v.Name, automatic) {
			return "", nil
		}
		files, err := m.projected(ctx, pod, v.Projected)
		return path, errors.Join(err, write(path, files))
	}
	return "", fmt.Errorf("%w: it knows emptyDir, configMap, secret, downwardAPI, projected and hostPath", ErrUnsupported)
}

// hasSecret reports whether a volume has values of secrets.
func hasSecret(v *corev1.Volume) bool {
	return v.Secret != nil || v.Projected != nil &&
		slices.ContainsFunc(v.Projected.Sources, func(source corev1.VolumeProjection) bool { return source.Secret != nil })
}

func (m Maker) memoryPath(uid types.UID, volume string) string {
	return filepath.Join(m.MemoryDir, "flyte-"+string(uid)+"-"+volume)
}

// RemoveAll is Remove for a pod of which only the uid is known.
func (m Maker) RemoveAll(uid types.UID) error {
	if m.MemoryDir == "" || uid == "" {
		return nil
	}
	paths, err := filepath.Glob(m.memoryPath(uid, "*"))
	if err != nil {
		return err
	}
	errs := make([]error, 0, len(paths))
	for _, path := range paths {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// Remove removes what Make may have created outside dir. What is inside is removed with dir.
func (m Maker) Remove(pod *corev1.Pod) error {
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if m.MemoryDir != "" && (hasSecret(v) || v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory) {
			errs = append(errs, os.RemoveAll(m.memoryPath(pod.UID, v.Name)))
		}
	}
	return errors.Join(errs...)
}

// hostPath checks a path of the machine itself.
func hostPath(source *corev1.HostPathVolumeSource) (string, error) {
	kind := corev1.HostPathUnset
	if source.Type != nil {
		kind = *source.Type
	}
	switch kind {
	case corev1.HostPathDirectoryOrCreate:
		return source.Path, os.MkdirAll(source.Path, 0o755) //nolint:gosec // the mode that the Pod API promises
	case corev1.HostPathFileOrCreate:
		file, err := os.OpenFile(source.Path, os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // as above
		if err != nil {
			return "", err
		}
		return source.Path, file.Close()
	default: // The other types create nothing.
	}
	if _, err := os.Stat(source.Path); err != nil {
		return "", fmt.Errorf("the path %s of this machine: %w", source.Path, err)
	}
	return source.Path, nil
}
