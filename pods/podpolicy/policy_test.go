package podpolicy_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/pods/podpolicy"
)

// asked is the pod of a task, as YAML.
func asked(t *testing.T, spec string) podpolicy.Asked {
	t.Helper()
	result := podpolicy.Asked{Spec: &corev1.PodSpec{}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), result.Spec))
	return result
}

func wordsOf(config podpolicy.Config, asked podpolicy.Asked) string {
	return podpolicy.Words(podpolicy.New(config).Check(asked))
}

// Each row is refused by default, in words that name what was asked for and what would allow it, and allowed by just that.
func TestWhatTasksMayNotAskFor(t *testing.T) {
	for name, tc := range map[string]struct {
		spec  string
		words []string
		allow func(*podpolicy.Config)
	}{
		"privileged container": {
			`containers: [{name: main, securityContext: {privileged: true}}]`,
			[]string{`container "main" must not set securityContext.privileged=true`, "executor.pod.policy.exceptions: [privileged]"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"privileged"} },
		},
		"privileged init container": {
			`initContainers: [{name: setup, securityContext: {privileged: true}}]`,
			[]string{`container "setup"`}, func(c *podpolicy.Config) { c.PodSecurity = "privileged" },
		},
		"privileged sidecar": {
			`initContainers: [{name: helper, restartPolicy: Always, securityContext: {privileged: true}}]`,
			[]string{`container "helper"`}, func(c *podpolicy.Config) { c.Exceptions = []string{"privileged"} },
		},
		"capability": {
			`containers: [{name: main, securityContext: {capabilities: {add: [SYS_PTRACE, CHOWN]}}}]`,
			[]string{`container "main"`, `"SYS_PTRACE"`, "capabilities: ["}, func(c *podpolicy.Config) { c.Capabilities = []string{"SYS_PTRACE"} },
		},
		"host network": {
			`hostNetwork: true`, []string{"hostNetwork=true", "exceptions: [hostNamespaces]"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"hostNamespaces"} },
		},
		"host processes": {`hostPID: true`, []string{"hostPID=true"}, func(c *podpolicy.Config) { c.Exceptions = []string{"hostNamespaces"} }},
		"host IPC":       {`hostIPC: true`, []string{"hostIPC=true"}, func(c *podpolicy.Config) { c.Exceptions = []string{"hostNamespaces"} }},
		"host path": {
			`volumes: [{name: root, hostPath: {path: /etc}}]`, []string{`volume "root" is of the kind hostPath, path "/etc"`, "volumes, which must list hostPath"},
			func(c *podpolicy.Config) { c.Volumes = append(c.Volumes, "hostPath") },
		},
		"host port": {
			`containers: [{name: main, ports: [{containerPort: 1, hostPort: 8080}]}]`, []string{`container "main"`, "8080"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"hostPorts"} },
		},
		"host of a probe": {
			`containers: [{name: main, livenessProbe: {httpGet: {host: 169.254.169.254, port: 80}}}]`, []string{`container "main"`, "169.254.169.254"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"hostProbesAndHostLifecycle"} },
		},
		"process of a Windows host": {
			`securityContext: {windowsOptions: {hostProcess: true}}`, []string{"windowsOptions.hostProcess=true"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"windowsHostProcess"} },
		},
		"no seccomp": {
			`containers: [{name: main, securityContext: {seccompProfile: {type: Unconfined}}}]`, []string{`container "main"`, "Unconfined"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"seccompProfile"} },
		},
		"no AppArmor": {
			`securityContext: {appArmorProfile: {type: Unconfined}}`, []string{"AppArmor", "Unconfined"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"appArmorProfile"} },
		},
		"SELinux": {
			`securityContext: {seLinuxOptions: {type: spc_t}}`, []string{"spc_t"}, func(c *podpolicy.Config) { c.Exceptions = []string{"seLinuxOptions"} },
		},
		"proc mount": {
			`containers: [{name: main, securityContext: {procMount: Unmasked}}]`, []string{`container "main"`, "Unmasked"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"procMount"} },
		},
		"sysctl": {
			`securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}`, []string{"kernel.msgmax"},
			func(c *podpolicy.Config) { c.Exceptions = []string{"sysctls"} },
		},
		"node": {
			`nodeName: control-plane`, []string{"the pod sets nodeName to control-plane", "executor.pod.policy.fields: [nodeName]"},
			func(c *podpolicy.Config) { c.Fields = []string{"nodeName"} },
		},
		"scheduler": {`schedulerName: mine`, []string{"schedulerName to mine"}, func(c *podpolicy.Config) { c.Fields = []string{"schedulerName"} }},
		"host aliases": {
			`hostAliases: [{ip: 10.0.0.1, hostnames: [vault]}]`, []string{"hostAliases", "10.0.0.1"},
			func(c *podpolicy.Config) { c.Fields = []string{"hostAliases"} },
		},
		"shared processes": {`shareProcessNamespace: true`, []string{"shareProcessNamespace to true"}, func(c *podpolicy.Config) { c.Fields = []string{"shareProcessNamespace"} }},
		"priority class": {
			`priorityClassName: system-node-critical`, []string{`priorityClassName to "system-node-critical"`, "priorityClasses: [system-node-critical]"},
			func(c *podpolicy.Config) { c.PriorityClasses = []string{"system-*"} },
		},
		"runtime class": {`runtimeClassName: runc`, []string{`runtimeClassName to "runc"`}, func(c *podpolicy.Config) { c.RuntimeClasses = []string{"runc"} }},
		"ephemeral container": {
			`ephemeralContainers: [{name: debug}]`, []string{"ephemeralContainers"}, nil,
		},
		"secret as a volume": {
			`volumes: [{name: v, secret: {secretName: server}}]`, []string{`volume "v" refers to the secret "server"`, "secrets: [server]"},
			func(c *podpolicy.Config) { c.Secrets = []string{"server"} },
		},
		"projected secret": {
			`volumes: [{name: v, projected: {sources: [{configMap: {name: c}}, {secret: {name: server}}]}}]`, []string{`volume "v"`, `"server"`},
			func(c *podpolicy.Config) { c.Secrets = []string{"server"} },
		},
		"secret as variables": {
			`initContainers: [{name: setup, envFrom: [{configMapRef: {name: c}}, {secretRef: {name: server}}]}]`, []string{`container "setup"`, `"server"`},
			func(c *podpolicy.Config) { c.Secrets = []string{"serv*"} },
		},
		"secret as a variable": {
			`containers: [{name: main, env: [{name: A, valueFrom: {secretKeyRef: {name: server, key: k}}}]}]`, []string{`container "main", env "A"`, `"server"`},
			func(c *podpolicy.Config) { c.Secrets = []string{"*"} },
		},
		"secret of a driver": {
			`volumes: [{name: v, csi: {driver: d, nodePublishSecretRef: {name: server}}}]`, []string{"kind csi", `"server"`},
			func(c *podpolicy.Config) { c.Volumes, c.Secrets = []string{"csi"}, []string{"server"} },
		},
		"volume of a network": {
			`volumes: [{name: v, nfs: {server: s, path: /}}]`, []string{`volume "v" is of the kind nfs`}, func(c *podpolicy.Config) { c.Volumes = []string{"nfs"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			words := wordsOf(podpolicy.DefaultConfig(), asked(t, tc.spec))
			require.NotEmpty(t, words)
			for _, part := range tc.words {
				require.Contains(t, words, part)
			}
			if tc.allow == nil {
				require.NotContains(t, words, "the operator can allow it")
				return
			}
			config := podpolicy.DefaultConfig()
			tc.allow(&config)
			require.NoError(t, config.Validate())
			require.Empty(t, wordsOf(config, asked(t, tc.spec)))
		})
	}
}

func TestWhatTasksMayAskFor(t *testing.T) {
	require.Empty(t, wordsOf(podpolicy.DefaultConfig(), asked(t, `
automountServiceAccountToken: false
dnsPolicy: ClusterFirst
schedulerName: default-scheduler
shareProcessNamespace: false
hostNetwork: false
priority: 0
nodeSelector: {pool: gpu}
tolerations: [{operator: Exists}]
affinity: {nodeAffinity: {}}
imagePullSecrets: [{name: registry}]
securityContext: {runAsUser: 0, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}, sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}]}
volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: scratch, emptyDir: {medium: Memory}}
  - {name: site, configMap: {name: site}}
  - {name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}
initContainers: [{name: setup, restartPolicy: Always, securityContext: {capabilities: {add: [CHOWN], drop: [ALL]}}}]
containers:
  - {name: main, ports: [{containerPort: 80}], envFrom: [{configMapRef: {name: site}}], volumeMounts: [{name: data, mountPath: /data}]}
`)))
}

func TestServiceAccounts(t *testing.T) {
	for _, tc := range []struct {
		name    string
		granted []string
		listed  []string
		allowed bool
	}{
		{"", nil, nil, true},
		{"admin", nil, nil, false},
		{"admin", []string{"", "tasks"}, []string{"team-*"}, false},
		{"tasks", []string{"", "tasks"}, nil, true},
		{"team-a", nil, []string{"team-*"}, true},
	} {
		config := podpolicy.DefaultConfig()
		config.ServiceAccounts = tc.listed
		pod := podpolicy.Asked{Spec: &corev1.PodSpec{}, ServiceAccount: tc.name, GrantedAccounts: tc.granted}
		require.Equal(t, tc.allowed, wordsOf(config, pod) == "", "%+v", tc)
	}
	pod := podpolicy.Asked{Spec: &corev1.PodSpec{}, ServiceAccount: "admin"}
	require.Contains(t, wordsOf(podpolicy.DefaultConfig(), pod), `service account "admin"`)
}

func TestAnnotationsThatTurnAppArmorOff(t *testing.T) {
	pod := asked(t, `containers: [{name: main}]`)
	pod.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}
	found := podpolicy.New(podpolicy.DefaultConfig()).Check(pod)
	require.Len(t, found, 1)
	require.Equal(t, podpolicy.Annotations, found[0].Area)
}

// A privileged policy still limits accounts, secrets and nodes, which Pod Security does not know.
func TestPrivilegedIsNotEverything(t *testing.T) {
	config := podpolicy.DefaultConfig()
	config.PodSecurity = "privileged"
	words := wordsOf(config, asked(t, `{hostNetwork: true, nodeName: n, volumes: [{name: v, secret: {secretName: s}}]}`))
	require.NotContains(t, words, "hostNetwork")
	require.Contains(t, words, "nodeName")
	require.Contains(t, words, `secret "s"`)
}

func TestConfigNamesTheWrongValue(t *testing.T) {
	require.NoError(t, podpolicy.DefaultConfig().Validate())
	for field, change := range map[string]func(*podpolicy.Config){
		"podSecurity":       func(c *podpolicy.Config) { c.PodSecurity = "restricted" },
		"exceptions[0]":     func(c *podpolicy.Config) { c.Exceptions = []string{"everything"} },
		"volumes[1]":        func(c *podpolicy.Config) { c.Volumes = []string{"csi", "hostpath"} },
		"fields[0]":         func(c *podpolicy.Config) { c.Fields = []string{"ephemeralContainers"} },
		"secrets[0]":        func(c *podpolicy.Config) { c.Secrets = []string{"a*b"} },
		"capabilities[0]":   func(c *podpolicy.Config) { c.Capabilities = []string{""} },
		"serviceAccounts[":  func(c *podpolicy.Config) { c.ServiceAccounts = []string{"**"} },
		"priorityClasses[0": func(c *podpolicy.Config) { c.PriorityClasses = []string{""} },
		"runtimeClasses[0]": func(c *podpolicy.Config) { c.RuntimeClasses = []string{""} },
	} {
		config := podpolicy.DefaultConfig()
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}

// Every field of Kubernetes' types that a rule has to know has been decided on. A new version of the API with a new field
// fails here: add the field to the rules if it needs one, and then to this list.
func TestEveryFieldIsDecided(t *testing.T) {
	for of, known := range map[reflect.Type]string{
		reflect.TypeFor[corev1.Container](): "args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy " +
			"resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath " +
			"terminationMessagePolicy tty volumeDevices volumeMounts workingDir",
		reflect.TypeFor[corev1.SecurityContext](): "allowPrivilegeEscalation appArmorProfile capabilities privileged procMount readOnlyRootFilesystem " +
			"runAsGroup runAsNonRoot runAsUser seLinuxOptions seccompProfile windowsOptions",
		reflect.TypeFor[corev1.PodSecurityContext](): "appArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seLinuxChangePolicy " +
			"seLinuxOptions seccompProfile supplementalGroups supplementalGroupsPolicy sysctls windowsOptions",
		reflect.TypeFor[corev1.VolumeProjection](): "clusterTrustBundle configMap downwardAPI podCertificate secret serviceAccountToken",
		reflect.TypeFor[corev1.EnvVarSource]():     "configMapKeyRef fieldRef fileKeyRef resourceFieldRef secretKeyRef",
		reflect.TypeFor[corev1.EnvFromSource]():    "configMapRef prefix secretRef",
		reflect.TypeFor[corev1.ContainerPort]():    "containerPort hostIP hostPort name protocol",
		reflect.TypeFor[corev1.LifecycleHandler](): "exec httpGet sleep tcpSocket",
	} {
		var names []string
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
		slices.Sort(names)
		require.Equal(t, known, strings.Join(names, " "), of.Name())
	}
}
