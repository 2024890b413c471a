// Package rendering writes input values as text, for the templates in the arguments of tasks that know no literals, such
// as raw containers. It stands beside the plugins and knows neither pods nor stores.
package rendering
