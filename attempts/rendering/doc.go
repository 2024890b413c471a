// Package rendering fills the templates in the commands of tasks: with what an attempt is about, and with input values as text,
// for tasks that know no literals, such as raw containers. It does not depend on pods.
package rendering
