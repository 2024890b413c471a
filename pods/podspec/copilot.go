package podspec

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Names of containers and volumes that the co-pilot adds to a pod.
const (
	downloaderName = "flyte-copilot-downloader"
	// UploaderName is the sidecar that uploads the outputs of a raw container after its end.
	UploaderName  = "flyte-copilot-uploader"
	inputsVolume  = "flyte-inputs"
	outputsVolume = "flyte-outputs"
	stageVolume   = "flyte-copilot"
)

// The data directories of the container unless the task sets others, and the one that both halves of the co-pilot share.
const (
	defaultInputsDir  = "/var/flyte/inputs"
	defaultOutputsDir = "/var/flyte/outputs"
	stageDir          = "/var/flyte/copilot"
)

// dataConfig returns how the co-pilot carries the task's data; nil when the container reads and writes the object store itself.
func dataConfig(template *core.TaskTemplate) *core.DataLoadingConfig {
	config := template.GetContainer().GetDataConfig()
	if config == nil {
		config = template.GetK8SPod().GetDataConfig()
	}
	if !config.GetEnabled() {
		return nil
	}
	return config
}

// downloads reports whether there are inputs to download.
func downloads(template *core.TaskTemplate) bool {
	config := dataConfig(template)
	return config != nil && config.GetIoStrategy().GetDownloadMode() != core.IOStrategy_DO_NOT_DOWNLOAD &&
		len(template.GetInterface().GetInputs().GetVariables()) > 0
}

// Uploads reports whether a sidecar uploads the outputs of the task after its container has ended.
func Uploads(template *core.TaskTemplate) bool {
	config := dataConfig(template)
	return config != nil && config.GetIoStrategy().GetUploadMode() != core.IOStrategy_DO_NOT_UPLOAD &&
		len(template.GetInterface().GetOutputs().GetVariables()) > 0
}

// addCopilot adds the co-pilot to the pod of a raw container: a sidecar that uploads the outputs, and an init container that
// downloads the inputs. The sidecar starts first, and the init container waits until it listens, so that the end of a
// container that ends at once cannot be missed. The kubelet stops the sidecar with a signal at that end, so the pod needs no
// rights on the Kubernetes API.
func (b *Builder) addCopilot(attempt *plugin.Attempt, spec *corev1.PodSpec) error {
	config := dataConfig(attempt.Template)
	if config == nil {
		return nil
	}
	primary := find(spec, PrimaryName(attempt.Template))
	inputs, outputs, err := directories(config)
	if err != nil {
		return err
	}
	storage := primary.Resources.Limits.StorageEphemeral()
	mount := func(volume, dir string) {
		source := corev1.EmptyDirVolumeSource{}
		if !storage.IsZero() {
			size := storage.DeepCopy()
			source.SizeLimit = &size
		}
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &source}})
		primary.VolumeMounts = append(primary.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: dir})
	}
	mount(inputsVolume, inputs)
	mount(outputsVolume, outputs)
	download, upload := downloads(attempt.Template), Uploads(attempt.Template)
	if !download && !upload {
		return nil
	}
	if b.config.Copilot.Image == "" {
		return failure.New(failure.BadTaskSpecification, "raw containers require an image for the co-pilot; "+
			"the operator of this installation must set executor.pod.copilot.image to the image of flyte-binary")
	}
	var helpers []corev1.Container
	if upload {
		helper, err := b.uploader(attempt, primary, outputs)
		if err != nil {
			return err
		}
		helpers = append(helpers, helper)
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: stageVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		// The sidecar may take this long after its signal. A pod that is stopped early is deleted with a grace of its own.
		grace := int64((b.config.Copilot.Timeout + copilotSlack).Seconds())
		if own := spec.TerminationGracePeriodSeconds; own == nil || *own < grace {
			spec.TerminationGracePeriodSeconds = &grace
		}
	}
	helpers = append(helpers, b.downloader(attempt, primary, config, inputs, download, upload))
	spec.InitContainers = append(helpers, spec.InitContainers...)
	return nil
}

// verbatim keeps the $$ of scripts, which Kubernetes would turn into a single $. A variable is still $(NAME), and the text
// $(NAME) is still $$(NAME).
func verbatim(texts []string) []string {
	result := make([]string, len(texts))
	for i, text := range texts {
		var kept strings.Builder
		for rest := text; rest != ""; {
			size := 1
			if strings.HasPrefix(rest, "$$") && !strings.HasPrefix(rest, "$$(") {
				size = 2
				kept.WriteString("$$")
			}
			kept.WriteString(rest[:size])
			rest = rest[size:]
		}
		result[i] = kept.String()
	}
	return result
}

// directories returns the directories of inputs and outputs in the container.
func directories(config *core.DataLoadingConfig) (inputs, outputs string, err error) {
	inputs, outputs = defaultInputsDir, defaultOutputsDir
	if dir := config.GetInputPath(); dir != "" {
		inputs = path.Clean(dir)
	}
	if dir := config.GetOutputPath(); dir != "" {
		outputs = path.Clean(dir)
	}
	for _, dir := range []string{inputs, outputs} {
		if !path.IsAbs(dir) || dir == "/" || strings.Contains(dir, ":") {
			return "", "", failure.New(failure.BadTaskSpecification, "the data directory %q is not an absolute path below the root", dir)
		}
	}
	if inputs == outputs {
		return "", "", failure.New(failure.BadTaskSpecification, "the directories of inputs and outputs are both %s", inputs)
	}
	return inputs, outputs, nil
}

func (b *Builder) downloader(
	attempt *plugin.Attempt, primary *corev1.Container, config *core.DataLoadingConfig, dir string, download, await bool,
) corev1.Container {
	args := []string{"--attempt=" + attempt.Dir, "--storage=" + b.storage()}
	result := b.helper(downloaderName, primary)
	if download {
		args = append(args, "--dir="+dir, "--inputs="+attempt.Task.Spec.InputURI,
			"--format="+config.GetFormat().String(), "--layout="+config.GetFileInputLayout().String())
		result.VolumeMounts = append(result.VolumeMounts, corev1.VolumeMount{Name: inputsVolume, MountPath: dir})
	}
	if await {
		args = append(args, "--await-sidecar", "--stage="+stageDir)
		result.VolumeMounts = append(result.VolumeMounts, corev1.VolumeMount{Name: stageVolume, MountPath: stageDir})
	}
	result.Args = literalAll(append([]string{"copilot", "download"}, args...))
	return result
}

func (b *Builder) uploader(attempt *plugin.Attempt, primary *corev1.Container, dir string) (corev1.Container, error) {
	declared, err := proto.MarshalOptions{Deterministic: true}.Marshal(attempt.Template.GetInterface().GetOutputs())
	if err != nil {
		return corev1.Container{}, failure.New(failure.BadTaskSpecification, "outputs: %v", err)
	}
	result := b.helper(UploaderName, primary)
	always := corev1.ContainerRestartPolicyAlways
	result.RestartPolicy = &always
	result.VolumeMounts = append(result.VolumeMounts,
		corev1.VolumeMount{Name: outputsVolume, MountPath: dir}, corev1.VolumeMount{Name: stageVolume, MountPath: stageDir})
	result.Args = literalAll([]string{
		"copilot", "sidecar", "--attempt=" + attempt.Dir, "--storage=" + b.storage(), "--stage=" + stageDir, "--dir=" + dir,
		"--raw=" + aboutOf(attempt).RawData(), "--timeout=" + b.config.Copilot.Timeout.String(),
		"--outputs=" + base64.StdEncoding.EncodeToString(declared),
	})
	return result, nil
}

// helper returns what both containers of the co-pilot have in common. They get the installation's variables, which lead to
// the object store, and none of the task's.
func (b *Builder) helper(name string, primary *corev1.Container) corev1.Container {
	no, yes := false, true
	security := &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes}
	if own := primary.SecurityContext; own != nil { // both sides must be able to read the files
		security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = own.RunAsUser, own.RunAsGroup, own.RunAsNonRoot
		security.Capabilities, security.SeccompProfile = own.Capabilities, own.SeccompProfile
	}
	// An object store that is a directory is mounted where the task has it.
	var mounts []corev1.VolumeMount
	root := strings.TrimPrefix(b.config.Copilot.Storage.URL, "file://")
	for _, mount := range primary.VolumeMounts {
		if strings.HasPrefix(root+"/", strings.TrimSuffix(mount.MountPath, "/")+"/") {
			mounts = append(mounts, mount)
		}
	}
	var env []corev1.EnvVar
	for _, pair := range b.config.DefaultEnv {
		name, value, _ := cutEnv(pair)
		env = append(env, Variable(name, value))
	}
	return corev1.Container{
		Name: name, Image: b.config.Copilot.Image, Command: []string{"flyte-binary"}, Env: env, EnvFrom: b.environmentFrom(),
		ImagePullPolicy: corev1.PullPolicy(b.config.ImagePullPolicy), Resources: b.config.Copilot.resources(),
		VolumeMounts: mounts, SecurityContext: security, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// storage encodes the object store for the co-pilot's arguments. It contains no secrets.
func (b *Builder) storage() string {
	encoded, _ := json.Marshal(b.config.Copilot.Storage) // strings and booleans can always be encoded
	return string(encoded)
}

// IsCopilot reports whether a container is one of the co-pilot's.
func IsCopilot(container string) bool {
	return container == downloaderName || container == UploaderName
}
