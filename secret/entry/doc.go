// Package entry has the words that SecretService and its backends share: where a secret belongs, what is known of it, its
// value, and the errors of backends. A Value cannot print itself. The package imports no other of this module.
package entry
