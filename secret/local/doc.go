// Package local stores secrets encrypted in files of one directory, for one process. It builds on secret/entry.
//
// Every secret is one file, sealed with AES-256-GCM under the newest key of the key file. What identifies a secret is
// authenticated with its value, so that a file cannot take the place of another. The keys are in a file that only the
// owner may read.
package local
