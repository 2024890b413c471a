// Package tasks has the tokens by which tasks, and replicas of apps, call the installation. A token names its attempt and is worth
// something only while that attempt may run. It reaches its process in the Secret of the attempt or, for a pool, with the
// assignment. The keys that sign tokens never leave the API.
package tasks
