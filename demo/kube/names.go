package kube

// CommandName is the hidden subcommand that runs the cluster in the child (package embedded).
const CommandName = "internal-kube"

// InheritedListener is the descriptor under which the child finds the API server's listener.
const InheritedListener = 3

// Names of the files in the cluster's directory, which is the child's working directory. All are readable by their owner
// alone. All but the keys of the service accounts and of the encryption are created at each start, so that nothing expires and old
// tokens stop working.
const (
	AuthorityFile  = "ca.crt"
	ServerCertFile = "apiserver.crt"
	ServerKeyFile  = "apiserver.key"
	TokenFile      = "tokens.csv"
	AccountKeyFile = "service-accounts.key"
	EncryptionFile = "encryption.yaml"
	kubeconfigFile = "kubeconfig"
)
