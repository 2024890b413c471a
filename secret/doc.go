// Package secret serves SecretService, and SecretValueService for the executors of the installation. It stores secrets in
// backends (packages below this one), which it asks in the order of the configuration. No answer but that of
// SecretValueService has a value, and no error and no log has one. It knows no runs and no database.
package secret
