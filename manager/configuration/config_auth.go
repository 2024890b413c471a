package configuration

// AuthConfig is the credential of the processes of an installation. Section access says who else may use it.
type AuthConfig struct {
	// InternalToken is the credential by which services in other processes reach the internal procedures. Empty
	// means that only services in this process can call them.
	InternalToken string `config:"internalToken" sensitive:"true"`
}
