package pod

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Names of what the co-pilot adds to a pod.
const (
	downloaderName = "flyte-copilot-downloader"
	uploaderName   = "flyte-copilot-uploader"
	inputsVolume   = "flyte-inputs"
	outputsVolume  = "flyte-outputs"
	stageVolume    = "flyte-copilot"
)

// Where the container's directories are unless the task says otherwise, and the one that the co-pilot's halves share.
const (
	defaultInputsDir  = "/var/flyte/inputs"
	defaultOutputsDir = "/var/flyte/outputs"
	stageDir          = "/var/flyte/copilot"
)

// dataConfig is how the task wants its data carried; nil when its container speaks to the object store itself.
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

// downloads and uploads tell what there is to carry.
func downloads(template *core.TaskTemplate) bool {
	config := dataConfig(template)
	return config != nil && config.GetIoStrategy().GetDownloadMode() != core.IOStrategy_DO_NOT_DOWNLOAD &&
		len(template.GetInterface().GetInputs().GetVariables()) > 0
}

func uploads(template *core.TaskTemplate) bool {
	config := dataConfig(template)
	return config != nil && config.GetIoStrategy().GetUploadMode() != core.IOStrategy_DO_NOT_UPLOAD &&
		len(template.GetInterface().GetOutputs().GetVariables()) > 0
}

// addCopilot puts the co-pilot into the pod of a raw container: a sidecar that collects the outputs, and an init container
// that brings the inputs. The sidecar comes first, and the init container waits until it listens, so that the end of a
// container that ends at once cannot be missed. The cluster tells the sidecar of that end by its signal: no rights at the
// Kubernetes API are needed in the pod.
func (p *Plugin) addCopilot(attempt *plugin.Attempt, spec *corev1.PodSpec) *failure.Failure {
	config := dataConfig(attempt.Template)
	if config == nil {
		return nil
	}
	primary := find(spec, PrimaryName(attempt.Template))
	inputs, outputs, bad := directories(config)
	if bad != nil {
		return bad
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
	download, upload := downloads(attempt.Template), uploads(attempt.Template)
	if !download && !upload {
		return nil
	}
	if p.config.Copilot.Image == "" {
		return failure.New(failure.BadTaskSpecification, "raw containers need an image for the co-pilot; "+
			"whoever runs this installation sets executor.pod.copilot.image to the image of flyte-binary")
	}
	var helpers []corev1.Container
	if upload {
		helper, bad := p.uploader(attempt, primary, outputs)
		if bad != nil {
			return bad
		}
		helpers = append(helpers, helper)
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: stageVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		// The sidecar may take this long after its signal. Pods that are to be stopped early are deleted with a grace of their own.
		grace := int64((p.config.Copilot.Timeout + copilotSlack).Seconds())
		if own := spec.TerminationGracePeriodSeconds; own == nil || *own < grace {
			spec.TerminationGracePeriodSeconds = &grace
		}
	}
	helpers = append(helpers, p.downloader(attempt, primary, config, inputs, download, upload))
	spec.InitContainers = append(helpers, spec.InitContainers...)
	return nil
}

// verbatim keeps what scripts mean by $$, which the cluster would make a single $. A variable is still $(NAME), and the text
// $(NAME) is $$(NAME).
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

// directories are those of inputs and outputs in the container.
func directories(config *core.DataLoadingConfig) (inputs, outputs string, bad *failure.Failure) {
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

func (p *Plugin) downloader(
	attempt *plugin.Attempt, primary *corev1.Container, config *core.DataLoadingConfig, dir string, download, await bool,
) corev1.Container {
	args := []string{"--attempt=" + attempt.Dir, "--storage=" + p.storage()}
	result := p.helper(downloaderName, primary)
	if download {
		args = append(args, "--dir="+dir, "--inputs="+attempt.Task.Spec.InputURI,
			"--format="+config.GetFormat().String(), "--layout="+config.GetFileInputLayout().String())
		result.VolumeMounts = append(result.VolumeMounts, corev1.VolumeMount{Name: inputsVolume, MountPath: dir})
	}
	if await {
		args = append(args, "--await-sidecar", "--stage="+stageDir)
		result.VolumeMounts = append(result.VolumeMounts, corev1.VolumeMount{Name: stageVolume, MountPath: stageDir})
	}
	result.Args = append([]string{"copilot", "download"}, args...)
	return result
}

func (p *Plugin) uploader(attempt *plugin.Attempt, primary *corev1.Container, dir string) (corev1.Container, *failure.Failure) {
	declared, err := proto.MarshalOptions{Deterministic: true}.Marshal(attempt.Template.GetInterface().GetOutputs())
	if err != nil {
		return corev1.Container{}, failure.New(failure.BadTaskSpecification, "outputs: %v", err)
	}
	result := p.helper(uploaderName, primary)
	always := corev1.ContainerRestartPolicyAlways
	result.RestartPolicy = &always
	result.VolumeMounts = append(result.VolumeMounts,
		corev1.VolumeMount{Name: outputsVolume, MountPath: dir}, corev1.VolumeMount{Name: stageVolume, MountPath: stageDir})
	result.Args = []string{
		"copilot", "sidecar", "--attempt=" + attempt.Dir, "--storage=" + p.storage(), "--stage=" + stageDir, "--dir=" + dir,
		"--raw=" + rawDataPrefix(attempt), "--timeout=" + p.config.Copilot.Timeout.String(),
		"--outputs=" + base64.StdEncoding.EncodeToString(declared),
	}
	return result, nil
}

// helper is what both containers of the co-pilot have in common. Of the variables they get those of the installation, which
// lead to the object store, and nothing of the task.
func (p *Plugin) helper(name string, primary *corev1.Container) corev1.Container {
	no, yes := false, true
	security := &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes}
	if own := primary.SecurityContext; own != nil { // files are to be readable on both sides
		security.RunAsUser, security.RunAsGroup, security.RunAsNonRoot = own.RunAsUser, own.RunAsGroup, own.RunAsNonRoot
		security.Capabilities, security.SeccompProfile = own.Capabilities, own.SeccompProfile
	}
	// An object store that is a directory is where the task itself has it.
	var mounts []corev1.VolumeMount
	root := strings.TrimPrefix(p.config.Copilot.Storage.URL, "file://")
	for _, mount := range primary.VolumeMounts {
		if strings.HasPrefix(root+"/", strings.TrimSuffix(mount.MountPath, "/")+"/") {
			mounts = append(mounts, mount)
		}
	}
	var env []corev1.EnvVar
	for _, pair := range p.config.DefaultEnv {
		name, value, _ := cutEnv(pair)
		env = append(env, corev1.EnvVar{Name: name, Value: value})
	}
	return corev1.Container{
		Name: name, Image: p.config.Copilot.Image, Command: []string{"flyte-binary"}, Env: env, EnvFrom: p.environmentFrom(),
		ImagePullPolicy: corev1.PullPolicy(p.config.ImagePullPolicy), Resources: p.config.Copilot.resources(),
		VolumeMounts: mounts, SecurityContext: security, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// storage is the object store as the co-pilot is told of it. It has no place for secrets.
func (p *Plugin) storage() string {
	encoded, _ := json.Marshal(p.config.Copilot.Storage) // text and flags always can be
	return string(encoded)
}
