package podvolume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
)

const defaultMode = fs.FileMode(0o644)

// file is one file of a volume, its name relative to the volume.
type file struct {
	name string
	data []byte
	mode fs.FileMode
}

func mode(given *int32) fs.FileMode {
	if given == nil {
		return defaultMode
	}
	return fs.FileMode(*given) & fs.ModePerm //nolint:gosec // masked
}

// choose selects the files of a ConfigMap or Secret: all keys, or the listed ones under their own paths.
func choose(
	data map[string][]byte, items []corev1.KeyToPath, mask fs.FileMode, missing podenv.MissingError, mayMiss *bool,
) ([]file, error) {
	var files []file
	if len(items) == 0 {
		for key, value := range data {
			files = append(files, file{key, value, mask})
		}
		return files, nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			if mayMiss != nil && *mayMiss {
				continue
			}
			missing.Key = item.Key
			return nil, &missing
		}
		f := file{item.Path, value, mask}
		if item.Mode != nil {
			f.mode = mode(item.Mode)
		}
		files = append(files, f)
	}
	return files, nil
}

// downward creates files from fields of the pod.
func (m Maker) downward(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mask fs.FileMode) ([]file, error) {
	var files []file
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = podenv.Field(pod, m.Node, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			value, err = m.resource(pod, item.ResourceFieldRef)
		}
		if err != nil {
			return nil, err
		}
		f := file{item.Path, []byte(value), mask}
		if item.Mode != nil {
			f.mode = mode(item.Mode)
		}
		files = append(files, f)
	}
	return files, nil
}

func (m Maker) resource(pod *corev1.Pod, ref *corev1.ResourceFieldSelector) (string, error) {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == ref.ContainerName {
				return podenv.Resource(&list[i], m.Node, ref)
			}
		}
	}
	return "", fmt.Errorf("there is no container %q", ref.ContainerName)
}

// projected collects the files of several sources.
func (m Maker) projected(ctx context.Context, pod *corev1.Pod, projected *corev1.ProjectedVolumeSource) ([]file, error) {
	mask := mode(projected.DefaultMode)
	var files []file
	for _, source := range projected.Sources {
		more, err := m.projection(ctx, pod, source, mask)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

func (m Maker) projection(
	ctx context.Context, pod *corev1.Pod, source corev1.VolumeProjection, mask fs.FileMode,
) ([]file, error) {
	switch {
	case source.ConfigMap != nil:
		ref := source.ConfigMap
		data, err := podenv.ConfigData(ctx, m.Source, pod.Namespace, ref.Name, ref.Optional)
		if err != nil {
			return nil, err
		}
		return choose(data, ref.Items, mask, podenv.MissingError{Kind: "ConfigMap", Namespace: pod.Namespace, Name: ref.Name}, ref.Optional)
	case source.Secret != nil:
		ref := source.Secret
		data, err := podenv.SecretData(ctx, m.Source, pod.Namespace, ref.Name, ref.Optional)
		if err != nil {
			return nil, err
		}
		return choose(data, ref.Items, mask, podenv.MissingError{Kind: "Secret", Namespace: pod.Namespace, Name: ref.Name}, ref.Optional)
	case source.DownwardAPI != nil:
		return m.downward(pod, source.DownwardAPI.Items, mask)
	case source.ServiceAccountToken != nil:
		if m.Tokens == nil {
			return nil, fmt.Errorf("service account tokens: %w", ErrUnsupported)
		}
		ref, seconds := source.ServiceAccountToken, int64(3600)
		if ref.ExpirationSeconds != nil {
			seconds = *ref.ExpirationSeconds
		}
		token, err := m.Tokens.Token(ctx, pod, ref.Audience, seconds)
		if err != nil {
			return nil, err
		}
		return []file{{ref.Path, []byte(token), 0o600}}, nil
	}
	return nil, fmt.Errorf("%w: a projection of another kind", ErrUnsupported)
}

// write creates the directory with its files. Names come from the API, which has checked them, and still cannot leave
// the directory.
func write(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // readable as in a container
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, f := range files {
		if err := writeFile(root, f); err != nil {
			return fmt.Errorf("file %s: %w", f.name, err)
		}
	}
	return nil
}

func writeFile(root *os.Root, f file) error {
	if parent := filepath.Dir(f.name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	// A volume may be created again after a part of it was missing.
	if err := root.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.WriteFile(f.name, f.data, f.mode); err != nil {
		return err
	}
	return root.Chmod(f.name, f.mode) // regardless of the umask
}
